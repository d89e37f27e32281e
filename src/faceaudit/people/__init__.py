"""What people say of images: their labels, and the tasks that ask them."""
