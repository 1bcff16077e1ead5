"""Settings, schedules, the adversarial step and the loop."""
