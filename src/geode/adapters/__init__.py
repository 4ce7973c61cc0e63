"""What speaks to the world, named by what it speaks. Adapters never import each other."""
