"""What an item is: identity, kinds, and one parser with its rules per kind. Everything here is pure: text in, values out."""
