"""The files behind three commands: those of `demo`, of `init`, and the topics of `help`."""
