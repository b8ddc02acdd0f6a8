"""What people find items by."""
