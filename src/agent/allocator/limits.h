/*
 * Settings of a device's memory, while it is in use: what allocator.h says of the functions with these names.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_LIMITS_H
#define GPUTRACE_AGENT_ALLOCATOR_LIMITS_H

#include <stddef.h>
#include <stdint.h>

int limits_set_fraction(double fraction, int device);
int limits_set_release_threshold(int device, uint64_t bytes);
int limits_enable_peer(int device, int peer);
int limits_keep_history(int device, size_t count);
void limits_reset_peak(int device);
void limits_reset_accumulated(int device);

#endif
