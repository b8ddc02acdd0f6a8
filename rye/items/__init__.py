"""What an item is: identity, kinds, and for each kind one parser with its rules. Everything is pure: text in, values out."""
