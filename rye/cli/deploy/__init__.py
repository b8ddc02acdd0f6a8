"""Commands that write installed items where agent programs read them."""
