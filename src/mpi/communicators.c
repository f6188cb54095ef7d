/*
 * The table of communicators by handle, under one lock: each gets its name and number when the call that made it
 * returns.
 */
#include "mpi/communicators.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "mpi/ranges.h"

static struct {
    pthread_mutex_t lock;
    struct map by_handle; /* -> struct communicator * */
    struct map groups;    /* hash of members -> how many communicators they made */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash & ((UINT64_C(1) << 48) - 1)) | 1; /* a number of JSON has it exactly */
}

static struct communicator *get(uint64_t handle)
{
    const uint64_t *place = map_get(&known.by_handle, handle);
    return place ? (struct communicator *)(uintptr_t)*place : NULL; /* NOLINT: a pointer that was put there */
}

/* With the lock. Takes the place of what had the handle before. */
static struct communicator *put(uint64_t handle, const struct mpi_members *members, const char *name)
{
    struct communicator *communicator = get(handle);
    if (!communicator) {
        communicator = calloc(1, sizeof(*communicator));
        uint64_t *place = communicator ? map_put(&known.by_handle, handle, NULL) : NULL;
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

/* With the lock. Returns what names of communicators end with in processes that were spawned, whose ranks begin at 0
 * like those of the processes that spawned them: launchers with PMIx, and those with PMI 2, name them. */
static const char *world_suffix(uint64_t parent)
{
    static char suffix[32];
    const char *name = getenv("PMIX_NAMESPACE") ?: getenv("PMI_JOBID");
    if (parent && !*suffix)
        snprintf(suffix, sizeof(suffix), " of %.24s", name ? name : "the spawned");
    return suffix;
}

/* With the lock: one of which it was not seen how it was made. */
static struct communicator *put_unseen(const struct mpi_constants *constants, uint64_t handle)
{
    struct mpi_members members;
    char name[COMMUNICATOR_NAME_BYTES];
    if (mpi_members(constants, handle, &members) != 0)
        return NULL;
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

static struct communicator *get_or_put(const struct mpi_constants *constants, uint64_t handle)
{
    struct communicator *communicator = get(handle);
    return communicator ? communicator : put_unseen(constants, handle);
}

bool communicator_find(const struct mpi_constants *constants, uint64_t handle, bool collective,
                       struct communicator *found)
{
    pthread_mutex_lock(&known.lock);
    struct communicator *communicator = get_or_put(constants, handle);
    if (communicator) {
        *found = *communicator;
        communicator->operations += collective;
    }
    pthread_mutex_unlock(&known.lock);
    return communicator != NULL;
}

uint64_t communicator_making(const struct mpi_constants *constants, uint64_t parent)
{
    pthread_mutex_lock(&known.lock);
    struct communicator *communicator = get_or_put(constants, parent);
    uint64_t number = communicator ? ++communicator->made : 0;
    pthread_mutex_unlock(&known.lock);
    return number;
}

/* With the lock. A name that is too long is cut, but for a hash of all of it. */
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

void communicator_duplicated(uint64_t parent, uint64_t number, uint64_t made)
{
    char name[COMMUNICATOR_NAME_BYTES];
    pthread_mutex_lock(&known.lock);
    const struct communicator *from = get(parent);
    if (from && number > 0) {
        const struct mpi_members members = {.count = from->ranks, .rank = from->rank, .remote_count = from->inter};
        name_child(name, from, number, &members);
        put(made, &members, name);
    }
    pthread_mutex_unlock(&known.lock);
}

void communicator_made(const struct mpi_constants *constants, uint64_t parent, uint64_t number, bool group_alone,
                       uint64_t made)
{
    struct mpi_members members;
    char name[COMMUNICATOR_NAME_BYTES] = "";
    if (mpi_members(constants, made, &members) != 0)
        return; /* this rank is not in it */
    pthread_mutex_lock(&known.lock);
    const struct communicator *from = get_or_put(constants, parent);
    if (group_alone && members.known) {
        uint64_t *times = map_put(&known.groups, members.hash, NULL);
        snprintf(name, sizeof(name), "group %" PRIx64 ".%" PRIu64 "%s", members.hash, times ? ++*times : 0,
                 world_suffix(mpi_parent(constants)));
    } else if (!group_alone && from && number > 0 && (members.known || members.count == from->ranks))
        name_child(name, from, number, &members);
    if (!*name || !put(made, &members, name))
        put_unseen(constants, made);
    pthread_mutex_unlock(&known.lock);
}

void communicator_freed(uint64_t handle)
{
    pthread_mutex_lock(&known.lock);
    free(get(handle));
    map_remove(&known.by_handle, handle);
    pthread_mutex_unlock(&known.lock);
}
