"""Small services with habits of real ones, and the truth about them."""
