"""Files of sandboxes seen from the host: copied, packed and measured without trust, for every backend."""
