/* Describes one call of an MPI function while it runs: what its arguments say, and what it makes. */
#ifndef GPUTRACE_MPI_FACTS_H
#define GPUTRACE_MPI_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/functions.h"
#include "mpi/library.h"
#include "mpi/ranges.h"

/* The language by whose function a program calls MPI. */
enum language { LANGUAGE_C, LANGUAGE_FORTRAN, LANGUAGE_FORTRAN_2008, LANGUAGES };

struct call {
    enum function function;
    const struct arguments *at; /* its row */
    enum language language;
    const long *arguments;
    const struct mpi_constants *constants; /* NULL: MPI cannot be asked anything */
    uint64_t handle;                       /* of its communicator, 0: there is none */
    uint64_t made;                         /* communicators made of it before */
    uint64_t freed;
    const void *caller;
    struct range_facts facts;
    bool outer; /* it is not within another one */
};

/* Writes the facts, from the arguments and from what was kept of older calls. Before the call, if MPI can be asked. */
void call_read_facts(struct call *call);

/* Keeps what the call made, once it has succeeded. */
void call_keep_made(struct call *call);

/* The handle number INDEX at the place that the argument at POSITION points to. */
uint64_t call_handle_at(const struct call *call, unsigned position, int index, enum mpi_handles handles);

#endif
