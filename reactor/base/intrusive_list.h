// Intrusive doubly linked list over boost::intrusive: O(1) link and unlink, no allocation, and a hook
// that unlinks itself when its owner dies. The list never owns its elements.
#pragma once

#include <boost/intrusive/list.hpp>

namespace pelton {

// An object derives from ListHook<Tag> once for each list it can be in at the same time.
template <class Tag = void>
using ListHook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<Tag>, boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

template <class T, class Tag = void>
using IntrusiveList = boost::intrusive::list<T, boost::intrusive::base_hook<ListHook<Tag>>,
                                             boost::intrusive::constant_time_size<false>>;

}  // namespace pelton
