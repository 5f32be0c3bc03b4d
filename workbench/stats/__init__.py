"""Statistics over scores; each cites its formula."""
