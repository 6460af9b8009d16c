"""A run set of another installation, taken over whole: never as results of ours, and never over them."""
