/*
 * What the arguments of a call say, by the row of the function in functions.h: communicator, peers, bytes. What a call
 * makes is kept for those that use it.
 */
#include "mpi/facts.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/map.h"
#include "mpi/communicators.h"

/* What is known of MPI's objects whose calls do not say it: the communicator of a window and of a file, the sender of a
 * matched message, what a persistent request moves. Handles are different numbers for objects of different kinds. */
static struct map by_handle; /* -> struct range_facts * */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Keeps FACTS of the object HANDLE, in place of those of an older one that had this handle. */
static void object_keep(uint64_t handle, const struct range_facts *facts)
{
    pthread_mutex_lock(&lock);
    uint64_t *place = map_put(&by_handle, handle, NULL);
    struct range_facts *kept = place ? (struct range_facts *)(uintptr_t)*place : NULL; /* NOLINT: put there below */
    if (place && !kept)
        kept = malloc(sizeof(*kept));
    if (kept) {
        *kept = *facts;
        *place = (uintptr_t)kept;
    }
    pthread_mutex_unlock(&lock);
}

/* Writes what was kept. Writes nothing known if nothing was. */
static void object_find(uint64_t handle, struct range_facts *facts)
{
    pthread_mutex_lock(&lock);
    const uint64_t *place = map_get(&by_handle, handle);
    *facts = place && *place ? *(const struct range_facts *)(uintptr_t)*place : (struct range_facts){0}; /* NOLINT */
    pthread_mutex_unlock(&lock);
}

/* 0 for position 0. */
static long argument(const struct call *call, unsigned position)
{
    return position ? call->arguments[position - 1] : 0;
}

static const void *pointer(const struct call *call, unsigned position)
{
    return (const void *)argument(call, position); /* NOLINT: a pointer that the program passed */
}

/* 0 for position 0. */
static int number(const struct call *call, unsigned position)
{
    if (call->language == LANGUAGE_C || position == 0)
        return (int)argument(call, position);
    return *(const int *)pointer(call, position);
}

/* 0 for position 0. */
static int64_t count_of(const struct call *call, unsigned position)
{
    if (!call->at->large)
        return number(call, position);
    return call->language == LANGUAGE_C ? argument(call, position) : *(const int64_t *)pointer(call, position);
}

/* The handle that the argument is. */
static uint64_t handle(const struct call *call, unsigned position, enum mpi_handles handles)
{
    return call->language == LANGUAGE_C ? mpi_handle(call->constants, handles, argument(call, position))
                                        : mpi_handle_of_fortran(call->constants, handles, number(call, position));
}

uint64_t call_handle_at(const struct call *call, unsigned position, int index, enum mpi_handles handles)
{
    const void *place = pointer(call, position);
    if (call->language != LANGUAGE_C)
        return mpi_handle_of_fortran(call->constants, handles, ((const int *)place)[index]);
    return mpi_handle_at(call->constants, handles, place, index);
}

/* MPI_IN_PLACE: 1 in Open MPI, -1 in MPICH, a variable in Fortran. */
static bool is_in_place(const struct call *call, unsigned position)
{
    long place = argument(call, position);
    if (call->language != LANGUAGE_C)
        return position && mpi_is_fortrans_place(pointer(call, position));
    return position && (place == 1 || place == -1);
}

static int64_t type_bytes(const struct call *call, unsigned position)
{
    return mpi_type_bytes(call->constants, handle(call, position, MPI_TYPES));
}

/* -1: not known. */
static int64_t product(int64_t count, int64_t each)
{
    int64_t bytes;
    return count < 0 || each < 0 || __builtin_mul_overflow(count, each, &bytes) ? -1 : bytes;
}

/* The sum of the bytes that each rank gets or gives; -1: not known. */
static int64_t array_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    const void *counts = pointer(call, amount->count);
    bool large = call->at->large;
    int64_t sum = 0, each = 0;
    if (!(facts->known & RANGE_COMMUNICATOR) || !counts)
        return -1;
    int first = amount->counting == COUNT_OWN ? facts->rank : 0;
    int end = amount->counting == COUNT_OWN ? first + 1 : facts->ranks;
    for (int i = first; i < end && sum >= 0; i++) {
        int64_t count = large ? ((const int64_t *)counts)[i] : ((const int *)counts)[i];
        if (count == 0)
            continue;
        if (each == 0 || amount->counting == COUNT_TYPES)
            each = amount->counting == COUNT_TYPES
                       ? mpi_type_bytes(call->constants, call_handle_at(call, amount->type, i, MPI_TYPES))
                       : type_bytes(call, amount->type);
        int64_t bytes = product(count, each);
        if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum))
            sum = -1;
    }
    return sum;
}

/* -1: not known. */
static int64_t amount_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    if (amount->count == 0)
        return -1;
    if (amount->counting > COUNT_SINGLE)
        return array_bytes(call, amount, facts);
    unsigned partitions = call->at->partitions;
    int64_t elements = amount->counting == COUNT_SINGLE ? 1 : count_of(call, amount->count);
    if (partitions)
        elements = product(number(call, partitions), elements);
    return product(elements, elements > 0 ? type_bytes(call, amount->type) : 0);
}

static void add_bytes(struct range_facts *facts, uint64_t *member, unsigned bit, int64_t bytes)
{
    if (bytes < 0)
        return;
    *member = (uint64_t)bytes;
    facts->known |= bit;
}

/* What goes to MPI_PROC_NULL, or comes from it, is nothing. */
static int64_t moved(int64_t bytes, bool known, int32_t rank)
{
    return known && rank == RANGE_NO_PEER && bytes > 0 ? 0 : bytes;
}

/* Once the peers are known. */
static void find_bytes(const struct call *call, struct range_facts *facts)
{
    const struct arguments *at = call->at;
    const struct amount *share = is_in_place(call, at->place) ? &at->other : &at->share;
    int32_t source = at->source ? facts->source : facts->peer;
    bool peer = facts->known & RANGE_PEER;
    add_bytes(facts, &facts->bytes, RANGE_BYTES, moved(amount_bytes(call, share, facts), peer, facts->peer));
    if (at->at_root && number(call, at->root) != facts->rank)
        return;
    add_bytes(facts, &facts->sent, RANGE_SENT, amount_bytes(call, &at->sent, facts));
    add_bytes(facts, &facts->received, RANGE_RECEIVED, moved(amount_bytes(call, &at->received, facts), peer, source));
}

static int32_t peer_of(const struct call *call, unsigned position)
{
    int rank = number(call, position);
    return rank == call->constants->any_source ? RANGE_ANY_PEER
           : rank == call->constants->no_peer  ? RANGE_NO_PEER
                                               : rank;
}

static void add_number(struct range_facts *facts, int32_t *member, unsigned bit, unsigned position, int32_t value)
{
    if (position == 0)
        return;
    *member = value;
    facts->known |= bit;
}

/* SPACE is the caller's. Returns false where arguments may mean nothing on this rank. */
static bool find_communicator(struct call *call, struct range_facts *facts, struct communicator *space)
{
    const struct arguments *at = call->at;
    if (at->communicator == 0)
        return true;
    call->handle = handle(call, at->communicator, MPI_COMMUNICATORS);
    if (!communicator_find(call->constants, call->handle, at->collective, space))
        return false;
    facts->communicator = space->id;
    facts->name = space->text;
    facts->ranks = space->ranks;
    facts->rank = space->rank;
    facts->known |= RANGE_COMMUNICATOR;
    if (at->collective) {
        facts->sequence = space->operations;
        facts->known |= RANGE_SEQUENCE;
    }
    return !space->inter || !at->collective;
}

static void find_facts(struct call *call, struct range_facts *facts)
{
    const struct arguments *at = call->at;
    struct communicator space;
    if (at->object)
        object_find(at->by_address ? call_handle_at(call, at->object, 0, at->kind) : handle(call, at->object, at->kind),
                    facts);
    facts->known &=
        ~(unsigned)(at->starts ? RANGE_SEQUENCE : RANGE_SEQUENCE | RANGE_BYTES | RANGE_SENT | RANGE_RECEIVED);
    bool certain = find_communicator(call, facts, &space);
    add_number(facts, &facts->peer, RANGE_PEER, at->peer, peer_of(call, at->peer));
    add_number(facts, &facts->tag, RANGE_TAG, at->tag, number(call, at->tag));
    add_number(facts, &facts->source, RANGE_SOURCE, at->source, peer_of(call, at->source));
    add_number(facts, &facts->root, RANGE_ROOT, at->root, peer_of(call, at->root));
    add_number(facts, &facts->code, RANGE_CODE, at->code, number(call, at->code));
    if (certain)
        find_bytes(call, facts);
    if (at->requests) {
        facts->requests = (uint32_t)number(call, at->requests);
        facts->known |= RANGE_REQUESTS;
    }
}

void call_read_facts(struct call *call)
{
    const struct arguments *at = call->at;
    find_facts(call, &call->facts);
    if (at->creates && !at->group_alone)
        call->made = communicator_making(call->constants, call->handle);
    if (at->frees)
        call->freed = call_handle_at(call, at->frees, 0, MPI_COMMUNICATORS);
}

void call_keep_made(struct call *call)
{
    const struct arguments *at = call->at;
    uint64_t made = at->creates ? call_handle_at(call, at->creates, 0, MPI_COMMUNICATORS) : 0;
    int source, tag;
    if (at->creates && at->duplicate)
        communicator_duplicated(call->handle, call->made, made);
    else if (at->creates)
        communicator_made(call->constants, call->handle, call->made, at->group_alone, made);
    if (at->frees)
        communicator_freed(call->freed);
    if (!at->keeps || (at->flag && !*(const int *)pointer(call, at->flag)))
        return;
    if (at->status && call->language == LANGUAGE_C && call->facts.peer != RANGE_NO_PEER &&
        mpi_read_status(call->constants, pointer(call, at->status), &source, &tag)) {
        call->facts.peer = source;
        call->facts.tag = tag;
    }
    object_keep(call_handle_at(call, at->keeps, 0, at->kind), &call->facts);
}
