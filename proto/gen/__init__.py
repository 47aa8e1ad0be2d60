"""Generator of the protocol code: reads proto/schema, writes C++ (see proto/README.md)."""
