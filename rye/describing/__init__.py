"""What people are told about an item before they install it: one value, and one module with its words (DESIGN §7.3)."""
