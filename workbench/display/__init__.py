"""What people read: texts and numbers, the columns of tables, and the commands that messages ask for."""
