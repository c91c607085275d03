"""Personal data in conversations: found by shape and by the names of fields, replaced by consistent fakes."""
