"""The promises, a file each; the folder itself is what runs them."""
