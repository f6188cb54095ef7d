/*
 * Reads the facts of a call from its arguments, by the row of its function: communicator, peers, bytes. Facts of
 * created objects are kept for calls that use the objects.
 */
#include "mpi/functions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/* --- communicators --- */

/*
 * Communicators get numbers and names that are equal on all of their ranks, without communication:
 *
 *   - MPI_COMM_WORLD is "world", MPI_COMM_SELF of rank 3 "self 3". In processes that others spawned they are the world
 *     "of" a name that the launcher chose for these processes: "world of prterun-7@2", with "parent of prterun-7@2".
 *   - All ranks of a communicator create others from it in the same order. So the third one is the third on all ranks:
 *     "world/3". If it has fewer ranks, several are created at once; the world's rank of its rank 0 follows:
 *     "world/3.4".
 *   - MPI_Comm_create_group and MPI_Intercomm_create are called only by the members of the new communicator: it is
 *     named by its members, and by how many communicators they have created: "group 5c3f….1".
 *   - Communicators whose creation this library did not see (by PMPI_Comm_dup, MPI_Comm_join) have a number that no
 *     other rank has: "rank 3: 7f00…". The two sides of MPI_Comm_spawn and MPI_Comm_connect have different numbers.
 *
 * The number is a hash of the name. A handle that is reused gets the name of the new communicator.
 */

#define COMMUNICATOR_NAME_BYTES 64

struct communicator {
    uint64_t id;
    int ranks, rank;
    bool inter;
    uint64_t operations; /* number of collective operations so far */
    uint64_t made;       /* number of communicators created from it */
    char name[COMMUNICATOR_NAME_BYTES];
    const void *text; /* the name as a result of range_text() */
};

static struct {
    pthread_mutex_t lock;
    struct map by_handle; /* handle -> struct communicator * */
    struct map groups;    /* hash of members -> number of communicators that they created */
} communicators = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash & ((UINT64_C(1) << 48) - 1)) | 1; /* 48 bits, which a JSON number represents exactly */
}

static struct communicator *get(uint64_t handle)
{
    const uint64_t *place = map_get(&communicators.by_handle, handle);
    return place ? (struct communicator *)(uintptr_t)*place : NULL; /* NOLINT: put() stored a pointer */
}

/* Adds a communicator, and replaces one that had the handle before. The caller holds the lock. */
static struct communicator *put(uint64_t handle, const struct mpi_members *members, const char *name)
{
    struct communicator *communicator = get(handle);
    if (!communicator) {
        communicator = calloc(1, sizeof(*communicator));
        uint64_t *place = communicator ? map_put(&communicators.by_handle, handle, NULL) : NULL;
        if (!place) {
            free(communicator);
            return NULL;
        }
        *place = (uintptr_t)communicator;
    }
    *communicator = (struct communicator){
        .id = hash_of(name), .ranks = members->count, .rank = members->rank, .inter = members->remote_count > 0};
    snprintf(communicator->name, sizeof(communicator->name), "%s", name);
    communicator->text = range_text(name);
    return communicator;
}

/* Returns the suffix for names of communicators in processes that were spawned, "" in others: their ranks begin at 0,
 * like those of the processes that spawned them. Launchers with PMIx and PMI 2 name such processes. The caller holds
 * the lock. */
static const char *world_suffix(uint64_t parent)
{
    static char suffix[32];
    const char *name = getenv("PMIX_NAMESPACE") ?: getenv("PMI_JOBID");
    if (parent && !*suffix)
        snprintf(suffix, sizeof(suffix), " of %.24s", name ? name : "the spawned");
    return suffix;
}

/* Returns the communicator. If its creation was not seen, it gets its name here. The caller holds the lock. */
static struct communicator *find_or_put(const struct mpi_constants *constants, uint64_t handle)
{
    struct communicator *known = get(handle);
    struct mpi_members members;
    char name[COMMUNICATOR_NAME_BYTES];
    if (known || mpi_members(constants, handle, &members) != 0)
        return known;
    uint64_t parent = mpi_parent(constants);
    const char *suffix = world_suffix(parent);
    if (handle == constants->world)
        snprintf(name, sizeof(name), "world%s", suffix);
    else if (handle == constants->self)
        snprintf(name, sizeof(name), "self %d%s", members.world_rank, suffix);
    else if (handle == parent)
        snprintf(name, sizeof(name), "parent%s", suffix);
    else
        snprintf(name, sizeof(name), "rank %d: %" PRIx64, members.world_rank, handle);
    return put(handle, &members, name);
}

/* Writes the name of a communicator created from PARENT. A long name is cut and ends with a hash. The caller holds the
 * lock. */
static void name_child(char *name, const struct communicator *parent, uint64_t number,
                       const struct mpi_members *members)
{
    char whole[2 * COMMUNICATOR_NAME_BYTES];
    int length = snprintf(whole, sizeof(whole), "%s/%" PRIu64, parent->name, number);
    if (members->count != parent->ranks || parent->inter)
        length += snprintf(whole + length, sizeof(whole) - (size_t)length, ".%d", members->first);
    if (length < COMMUNICATOR_NAME_BYTES)
        memcpy(name, whole, (size_t)length + 1);
    else
        snprintf(name, COMMUNICATOR_NAME_BYTES, "%.40s…%016" PRIx64, whole, hash_of(whole));
}

/* Notes a communicator created by MPI_Comm_idup. It has the parent's ranks, because MPI must not be asked about it
 * before the request is complete. */
static void communicator_duplicated(uint64_t parent, uint64_t number, uint64_t made)
{
    char name[COMMUNICATOR_NAME_BYTES];
    pthread_mutex_lock(&communicators.lock);
    const struct communicator *from = get(parent);
    if (from && number > 0) {
        const struct mpi_members members = {.count = from->ranks, .rank = from->rank, .remote_count = from->inter};
        name_child(name, from, number, &members);
        put(made, &members, name);
    }
    pthread_mutex_unlock(&communicators.lock);
}

/* Notes a created communicator after the call: MADE is the new one, or the null handle. NUMBER counts
 * the calls that create one from PARENT. GROUP_ALONE: only the members called. */
static void communicator_made(const struct mpi_constants *constants, uint64_t parent, uint64_t number, bool group_alone,
                              uint64_t made)
{
    struct mpi_members members;
    char name[COMMUNICATOR_NAME_BYTES] = "";
    if (mpi_members(constants, made, &members) != 0)
        return; /* this rank is not a member */
    pthread_mutex_lock(&communicators.lock);
    const struct communicator *from = find_or_put(constants, parent);
    if (group_alone && members.known) {
        uint64_t *times = map_put(&communicators.groups, members.hash, NULL);
        snprintf(name, sizeof(name), "group %" PRIx64 ".%" PRIu64 "%s", members.hash, times ? ++*times : 0,
                 world_suffix(mpi_parent(constants)));
    } else if (!group_alone && from && number > 0 && (members.known || members.count == from->ranks))
        name_child(name, from, number, &members);
    if (!*name || !put(made, &members, name)) {
        free(get(made)); /* an older communicator with this handle */
        map_remove(&communicators.by_handle, made);
        find_or_put(constants, made);
    }
    pthread_mutex_unlock(&communicators.lock);
}

/* --- facts of calls --- */

/* Facts of MPI's objects that calls on the objects do not contain: the communicator of a window or file, the sender of
 * a matched message, the data of a persistent request. Objects of different kinds have different handles. */
static struct map by_handle; /* handle -> struct range_facts * */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the argument at a position, or 0 for position 0. */
static long argument(const struct call *call, unsigned position)
{
    return position ? call->arguments[position - 1] : 0;
}

static const void *pointer(const struct call *call, unsigned position)
{
    return (const void *)argument(call, position); /* NOLINT: a pointer that the program passed */
}

/* Returns an int argument, which Fortran passes by its address; 0 for position 0. */
static int number(const struct call *call, unsigned position)
{
    if (call->language == LANGUAGE_C || position == 0)
        return (int)argument(call, position);
    return *(const int *)pointer(call, position);
}

/* Returns the handle that is the argument at POSITION. */
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

/* Returns COUNT times EACH, or -1 if either is negative or the product overflows. */
static int64_t product(int64_t count, int64_t each)
{
    int64_t bytes;
    return count < 0 || each < 0 || __builtin_mul_overflow(count, each, &bytes) ? -1 : bytes;
}

/* Returns the sum of the bytes for the ranks that the arrays of AMOUNT describe, or -1 if unknown. */
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
            each = mpi_type_bytes(call->constants, amount->counting == COUNT_TYPES
                                                       ? call_handle_at(call, amount->type, i, MPI_TYPES)
                                                       : handle(call, amount->type, MPI_TYPES));
        int64_t bytes = product(count, each);
        if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum))
            sum = -1;
    }
    return sum;
}

/* Returns the bytes of an amount, or -1 if unknown. */
static int64_t amount_bytes(const struct call *call, const struct amount *amount, const struct range_facts *facts)
{
    if (amount->count == 0)
        return -1;
    if (amount->counting > COUNT_SINGLE)
        return array_bytes(call, amount, facts);
    unsigned partitions = call->at->partitions;
    int64_t elements = !call->at->large               ? number(call, amount->count)
                       : call->language == LANGUAGE_C ? argument(call, amount->count)
                                                      : *(const int64_t *)pointer(call, amount->count);
    if (amount->counting == COUNT_SINGLE)
        elements = 1;
    if (partitions)
        elements = product(number(call, partitions), elements);
    uint64_t type = elements > 0 ? handle(call, amount->type, MPI_TYPES) : 0;
    return product(elements, elements > 0 ? mpi_type_bytes(call->constants, type) : 0);
}

static void add_bytes(struct range_facts *facts, uint64_t *member, unsigned bit, int64_t bytes)
{
    if (bytes < 0)
        return;
    *member = (uint64_t)bytes;
    facts->known |= bit;
}

/* Returns the bytes that move: nothing goes to MPI_PROC_NULL or comes from it. */
static int64_t moved(int64_t bytes, bool known, int32_t rank)
{
    return known && rank == RANGE_NO_PEER && bytes > 0 ? 0 : bytes;
}

/* Finds the numbers of bytes. The peers must be known. */
static void find_bytes(const struct call *call, struct range_facts *facts)
{
    const struct arguments *at = call->at;
    long place = argument(call, at->place);
    /* MPI_IN_PLACE is 1 in Open MPI, -1 in MPICH, and a variable in Fortran. */
    bool in_place = at->place && (call->language == LANGUAGE_C ? place == 1 || place == -1
                                                               : mpi_is_fortrans_place(pointer(call, at->place)));
    const struct amount *share = in_place ? &at->other : &at->share;
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

/* Finds the call's communicator and copies it to *SPACE. Returns false if arguments may have no meaning on this rank.
 */
static bool find_communicator(struct call *call, struct range_facts *facts, struct communicator *space)
{
    const struct arguments *at = call->at;
    if (at->communicator == 0)
        return true;
    call->handle = handle(call, at->communicator, MPI_COMMUNICATORS);
    pthread_mutex_lock(&communicators.lock);
    struct communicator *known = find_or_put(call->constants, call->handle);
    if (known) {
        *space = *known;
        known->operations += at->collective; /* in SPACE it is the number of this operation, from 0 */
    }
    pthread_mutex_unlock(&communicators.lock);
    if (!known)
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
    if (at->object) {
        uint64_t object =
            at->by_address ? call_handle_at(call, at->object, 0, at->kind) : handle(call, at->object, at->kind);
        pthread_mutex_lock(&lock);
        const uint64_t *place = map_get(&by_handle, object);
        if (place && *place)
            *facts = *(const struct range_facts *)(uintptr_t)*place; /* NOLINT: call_keep_made() stored it */
        pthread_mutex_unlock(&lock);
    }
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
    if (at->creates && !at->group_alone) {
        /* Counts the calls of all ranks that create a communicator from this one. */
        pthread_mutex_lock(&communicators.lock);
        struct communicator *parent = find_or_put(call->constants, call->handle);
        call->made = parent ? ++parent->made : 0;
        pthread_mutex_unlock(&communicators.lock);
    }
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
    if (at->frees) {
        pthread_mutex_lock(&communicators.lock);
        free(get(call->freed));
        map_remove(&communicators.by_handle, call->freed);
        pthread_mutex_unlock(&communicators.lock);
    }
    if (!at->keeps || (at->flag && !*(const int *)pointer(call, at->flag)))
        return;
    if (at->status && call->language == LANGUAGE_C && call->facts.peer != RANGE_NO_PEER &&
        mpi_read_status(call->constants, pointer(call, at->status), &source, &tag)) {
        call->facts.peer = source;
        call->facts.tag = tag;
    }
    /* Facts of an older object with this handle are replaced. */
    uint64_t object = call_handle_at(call, at->keeps, 0, at->kind);
    pthread_mutex_lock(&lock);
    uint64_t *place = map_put(&by_handle, object, NULL);
    struct range_facts *kept = place ? (struct range_facts *)(uintptr_t)*place : NULL; /* NOLINT: stored below */
    if (place && !kept)
        kept = malloc(sizeof(*kept));
    if (kept) {
        *kept = call->facts;
        *place = (uintptr_t)kept;
    }
    pthread_mutex_unlock(&lock);
}
