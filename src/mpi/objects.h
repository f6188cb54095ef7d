/*
 * What is known of MPI's objects whose calls do not say it: the communicator of a window and of a file, the sender of a
 * matched message, what a persistent request moves.
 */
#ifndef GPUTRACE_MPI_OBJECTS_H
#define GPUTRACE_MPI_OBJECTS_H

#include <stdint.h>

#include "mpi/ranges.h"

/* Keeps FACTS of the object HANDLE, in place of those of an older one that had this handle. */
void object_keep(uint64_t handle, const struct range_facts *facts);

/* Writes what was kept. Writes nothing known if nothing was. */
void object_find(uint64_t handle, struct range_facts *facts);

#endif
