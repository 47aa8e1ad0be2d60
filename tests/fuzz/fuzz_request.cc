#include "tests/fuzz/fuzz_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pelton::proto::fuzz_api_message(pelton::proto::request_type, {data, size});
  return 0;
}
