"""What people measure: read, fitted, predicted, diagnosed, and schedules handed to programs that run them."""
