/*
 * Looks up MPI's functions in the program, recognises Open MPI or MPICH's ABI by exported symbols, and asks MPI for
 * ranks, groups, sizes and statuses. Pushes and pops the ranges through NVTX; a payload's schema is registered once for
 * each set of facts.
 */
#include "mpi/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvToolsExtPayload.h of CUDA 13.0 lacks a bracket in this macro. */
#define NVTX_POINTER_AS_PAYLOAD_ULLVALUE(p) ((uint64_t)(uintptr_t)(p))
#include <nvtx3/nvToolsExtPayload.h>

/* --- finding functions --- */

/* Finds NAME among the libraries that the caller's library needs: Python modules and other plugins see an MPI that the
 * program as a whole does not. */
static void *find_beside(const char *name, const void *caller)
{
    Dl_info info;
    if (!caller || !dladdr(caller, &info) || !info.dli_fname)
        return NULL;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return found;
}

static void *find(const char *name, const void *caller)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : find_beside(name, caller);
}

/* Prefers the plain name, because another library that wraps MPI may come after this one. */
void *mpi_find(const char *name, const void *caller)
{
    char profiling[64] = {name[0] == 'm' ? 'p' : 'P'};
    void *found = find(name, caller);
    if (found)
        return found;
    strncat(profiling, name, sizeof(profiling) - 2);
    return find(profiling, caller);
}

/* --- functions of MPI that are called here --- */

/* Narrower arguments are declared as `long`, as in calls.c. */
#define ASKED(X)                                                    \
    X(Initialized, (int *))                                         \
    X(Finalized, (int *))                                           \
    X(Type_size, (long, int *))                                     \
    X(Comm_size, (long, int *))                                     \
    X(Comm_rank, (long, int *))                                     \
    X(Comm_test_inter, (long, int *))                               \
    X(Comm_remote_size, (long, int *))                              \
    X(Comm_group, (long, void *))                                   \
    X(Comm_remote_group, (long, void *))                            \
    X(Group_translate_ranks, (long, int, const int *, long, int *)) \
    X(Group_rank, (long, int *))                                    \
    X(Comm_get_parent, (void *))                                    \
    X(Group_free, (void *))

static struct {
    struct mpi_constants constants;
#define FIELD(name, arguments) int(*name) arguments;
    ASKED(FIELD)
#undef FIELD
    bool whole;                                                 /* all of them were found */
    int (*Group_from_session_pset)(long, const char *, void *); /* from MPI 4; NULL if missing */
    /* Conversions from Fortran's numbers, which Open MPI has, and every MPI for files. NULL: the number is the handle.
     */
    void *(*to_c[MPI_HANDLES])(int);
    const void *places[5]; /* addresses of Fortran's MPI_IN_PLACE, then NULL */
} mpi;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const void *first_caller;
static bool running;
static uint64_t session; /* a session of this process, from which the world's group can be found; 0: none */

/* Returns the address of an object of MPI. A program that is linked with MPI may have a copy of the object, which then
 * counts. */
static uint64_t address_of(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return (uint64_t)(uintptr_t)(found ? found : find_beside(name, first_caller));
}

static void find_constants(struct mpi_constants *constants)
{
    uint64_t world = address_of("ompi_mpi_comm_world");
    if (world)
        *constants = (struct mpi_constants){.pointers = true,
                                            .world = world,
                                            .self = address_of("ompi_mpi_comm_self"),
                                            .no_communicator = address_of("ompi_mpi_comm_null"),
                                            .no_type = address_of("ompi_mpi_datatype_null"),
                                            .any_source = -1,
                                            .no_peer = -2,
                                            .undefined = -32766};
    else
        *constants = (struct mpi_constants){.world = 0x44000000,
                                            .self = 0x44000001,
                                            .no_communicator = 0x04000000,
                                            .no_type = 0x0c000000,
                                            .any_source = -2,
                                            .no_peer = -1,
                                            .undefined = -32766};
}

/* Finds Fortran's MPI_IN_PLACE, which compilers spell in four ways and MPICH keeps in a variable, and the conversions
 * of handles. */
static void find_fortran(void)
{
    static const char *const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__",
                                        "MPI_FORTRAN_IN_PLACE"};
    const void *const *variable = (const void *const *)(uintptr_t)address_of("MPIR_F_MPI_IN_PLACE"); /* NOLINT */
    static const char *const to_c[MPI_HANDLES] = {"PMPI_Comm_f2c",    "PMPI_Type_f2c", "PMPI_Request_f2c",
                                                  "PMPI_Message_f2c", "PMPI_Win_f2c",  "PMPI_Session_f2c",
                                                  "PMPI_File_f2c"};
    size_t count = 0;
    for (size_t i = mpi.constants.pointers ? 0 : MPI_FILES; i < MPI_HANDLES; i++)
        *(void **)&mpi.to_c[i] = find(to_c[i], first_caller);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const void *place = (const void *)(uintptr_t)address_of(names[i]); /* NOLINT */
        mpi.places[count] = place;
        count += place != NULL;
    }
    if (variable)
        mpi.places[count] = *variable;
}

static void find_all(void)
{
    mpi.whole = true;
#define FIND(name, arguments)                                \
    *(void **)&mpi.name = find("PMPI_" #name, first_caller); \
    mpi.whole = mpi.whole && mpi.name;
    ASKED(FIND)
#undef FIND
    *(void **)&mpi.Group_from_session_pset = find("PMPI_Group_from_session_pset", first_caller);
    find_constants(&mpi.constants);
    find_fortran();
}

void mpi_set_running(bool is_running)
{
    __atomic_store_n(&running, is_running, __ATOMIC_RELEASE);
}

void mpi_set_session(uint64_t changed, bool begun)
{
    if (begun)
        __atomic_store_n(&session, changed, __ATOMIC_RELEASE);
    else
        __atomic_compare_exchange_n(&session, &changed, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Whether the world exists. MPI_Init may have been called in a way that is not wrapped, such as PMPI_Init. */
static bool has_world(void)
{
    int begun = 0, ended = 1;
    if (__atomic_load_n(&running, __ATOMIC_ACQUIRE))
        return true;
    if (mpi.Initialized(&begun) != 0 || mpi.Finalized(&ended) != 0 || !begun || ended)
        return false;
    mpi_set_running(true);
    return true;
}

const struct mpi_constants *mpi_constants(const void *caller)
{
    __atomic_store_n(&first_caller, caller, __ATOMIC_RELAXED);
    pthread_once(&once, find_all);
    return mpi.whole ? &mpi.constants : NULL;
}

bool mpi_is_running(void)
{
    return __atomic_load_n(&session, __ATOMIC_ACQUIRE) || has_world();
}

static bool are_pointers(const struct mpi_constants *constants, enum mpi_handles handles)
{
    return constants->pointers || handles == MPI_FILES;
}

uint64_t mpi_handle(const struct mpi_constants *constants, enum mpi_handles handles, long argument)
{
    return are_pointers(constants, handles) ? (uint64_t)argument : (uint32_t)argument;
}

uint64_t mpi_handle_at(const struct mpi_constants *constants, enum mpi_handles handles, const void *place, int index)
{
    return are_pointers(constants, handles) ? ((const uint64_t *)place)[index] : ((const uint32_t *)place)[index];
}

uint64_t mpi_handle_of_fortran(const struct mpi_constants *constants, enum mpi_handles handles, int number)
{
    if (!are_pointers(constants, handles) || !mpi.to_c[handles])
        return (uint32_t)number;
    return (uint64_t)(uintptr_t)mpi.to_c[handles](number);
}

bool mpi_is_fortrans_place(const void *address)
{
    for (size_t i = 0; i < sizeof(mpi.places) / sizeof(*mpi.places); i++)
        if (mpi.places[i] && mpi.places[i] == address)
            return true;
    return false;
}

/* MPI_STATUS_IGNORE is 0 in Open MPI and 1 in MPICH. MPICH's statuses begin with two other numbers. */
bool mpi_read_status(const struct mpi_constants *constants, const int *status, int *source, int *tag)
{
    const int *first = constants->pointers ? status : status + 2;
    if ((uintptr_t)status <= 1)
        return false;
    *source = first[0];
    *tag = first[1];
    return true;
}

/* --- facts of objects --- */

uint64_t mpi_parent(const struct mpi_constants *constants)
{
    uint64_t parent = 0;
    if (!has_world() || mpi.Comm_get_parent(&parent) != 0)
        return 0;
    parent = mpi_handle_at(constants, MPI_COMMUNICATORS, &parent, 0);
    return parent == constants->no_communicator ? 0 : parent;
}

/* An invalid handle may end the program. Programs pass the null handle where MPI ignores the argument, so it is
 * checked. */
int64_t mpi_type_bytes(const struct mpi_constants *constants, uint64_t type)
{
    int bytes = 0;
    if (type == 0 || type == constants->no_type)
        return -1;
    return mpi.Type_size((long)type, &bytes) == 0 && bytes >= 0 ? bytes : -1;
}

/* Adds GROUP with its COUNT members to MEMBERS. The hash of two sides does not depend on their order. */
static void add_group(const struct mpi_constants *constants, struct mpi_members *members, long group, int count)
{
    uint64_t world_group = 0, hash = 1;
    int *ranks = calloc((size_t)count * 2, sizeof(*ranks)), *in_world = ranks ? ranks + count : NULL;
    for (int i = 0; ranks && i < count; i++)
        ranks[i] = i;
    /* The group of all processes that started together. A program that has only sessions must not use MPI_COMM_WORLD.
     */
    uint64_t asked = __atomic_load_n(&session, __ATOMIC_ACQUIRE);
    bool found = false;
    if (ranks && has_world())
        found = mpi.Comm_group((long)constants->world, &world_group) == 0;
    else if (ranks && asked && mpi.Group_from_session_pset)
        found = mpi.Group_from_session_pset((long)asked, "mpi://WORLD", &world_group) == 0;
    long world = found ? (long)mpi_handle_at(constants, MPI_COMMUNICATORS, &world_group, 0) : 0;
    if (found)
        mpi.Group_rank(world, &members->world_rank);
    members->known = members->known && found && mpi.Group_translate_ranks(group, count, ranks, world, in_world) == 0;
    for (int i = 0; members->known && i < count; i++) {
        members->known = in_world[i] != constants->undefined;
        hash = (hash ^ (uint64_t)in_world[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    if (members->known && (members->first < 0 || in_world[0] < members->first))
        members->first = in_world[0];
    members->hash += hash;
    if (found)
        mpi.Group_free(&world_group);
    free(ranks);
}

static int add_side(const struct mpi_constants *constants, struct mpi_members *members, uint64_t communicator,
                    bool remote)
{
    uint64_t group = 0;
    int count = remote ? members->remote_count : members->count;
    int failed =
        remote ? mpi.Comm_remote_group((long)communicator, &group) : mpi.Comm_group((long)communicator, &group);
    if (failed || count <= 0)
        return -1;
    add_group(constants, members, (long)mpi_handle_at(constants, MPI_COMMUNICATORS, &group, 0), count);
    mpi.Group_free(&group);
    return 0;
}

int mpi_members(const struct mpi_constants *constants, uint64_t communicator, struct mpi_members *members)
{
    int inter = 0;
    *members = (struct mpi_members){.first = -1, .world_rank = -1, .known = true};
    if (communicator == 0 || communicator == constants->no_communicator ||
        mpi.Comm_size((long)communicator, &members->count) != 0 ||
        mpi.Comm_rank((long)communicator, &members->rank) != 0 || mpi.Comm_test_inter((long)communicator, &inter) != 0)
        return -1;
    if (inter && mpi.Comm_remote_size((long)communicator, &members->remote_count) != 0)
        return -1;
    if (add_side(constants, members, communicator, false) != 0)
        return -1;
    return inter ? add_side(constants, members, communicator, true) : 0;
}

/* --- ranges --- */

static nvtxDomainHandle_t domain;
static pthread_once_t domain_once = PTHREAD_ONCE_INIT;

static void make_domain(void)
{
    domain = nvtxDomainCreateA("MPI");
}

bool ranges_wanted(void)
{
    pthread_once(&domain_once, make_domain);
    return domain != NULL;
}

#define ENTRY(known, word, nvtx_type, field)                                                                         \
    {                                                                                                                \
        known,                                                                                                       \
        {                                                                                                            \
            .type = NVTX_PAYLOAD_ENTRY_TYPE_##nvtx_type, .name = word, .offset = offsetof(struct range_facts, field) \
        }                                                                                                            \
    }

/* The tool reads these names (trace/meaning). */
static const struct {
    unsigned known;
    nvtxPayloadSchemaEntry_t entry;
} entries[] = {
    ENTRY(RANGE_COMMUNICATOR, "communicator", UINT64, communicator),
    ENTRY(RANGE_COMMUNICATOR, "name", NVTX_REGISTERED_STRING_HANDLE, name),
    ENTRY(RANGE_COMMUNICATOR, "ranks", INT32, ranks),
    ENTRY(RANGE_COMMUNICATOR, "rank", INT32, rank),
    ENTRY(RANGE_SEQUENCE, "sequence", UINT64, sequence),
    ENTRY(RANGE_BYTES, "bytes", UINT64, bytes),
    ENTRY(RANGE_SENT, "bytes sent", UINT64, sent),
    ENTRY(RANGE_RECEIVED, "bytes received", UINT64, received),
    ENTRY(RANGE_PEER, "peer", INT32, peer),
    ENTRY(RANGE_TAG, "tag", INT32, tag),
    ENTRY(RANGE_SOURCE, "source", INT32, source),
    ENTRY(RANGE_ROOT, "root", INT32, root),
    ENTRY(RANGE_REQUESTS, "requests", UINT32, requests),
    ENTRY(RANGE_CODE, "code", INT32, code),
};
#define ENTRIES (sizeof(entries) / sizeof(*entries))

static uint64_t schema_make(unsigned known)
{
    nvtxPayloadSchemaEntry_t chosen[ENTRIES];
    size_t count = 0;
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].known & known)
            chosen[count++] = entries[i].entry;
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = "MPI call",
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = chosen,
        .numEntries = count,
        .payloadStaticSize = sizeof(struct range_facts),
    };
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

/* Returns the schema with these members, registered once for each set, or 0 for the empty set. */
static uint64_t schema_of(unsigned known)
{
    static uint64_t schemas[RANGE_MEMBERS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t schema = __atomic_load_n(&schemas[known], __ATOMIC_ACQUIRE);
    if (schema || known == 0)
        return schema;
    pthread_mutex_lock(&lock);
    schema = schemas[known];
    if (!schema) {
        schema = schema_make(known);
        __atomic_store_n(&schemas[known], schema, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return schema;
}

const void *range_text(const char *text)
{
    return nvtxDomainRegisterStringA(domain, text);
}

void range_push(const void *function, const struct range_facts *facts)
{
    const nvtxPayloadData_t payload = {schema_of(facts->known), sizeof(*facts), facts};
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                   .message.registered = (nvtxStringHandle_t)(uintptr_t)function};
    if (payload.schemaId) {
        event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        event.reserved0 = 1; /* number of payloads */
        event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&payload);
    }
    nvtxDomainRangePushEx(domain, &event);
}

void range_pop(void)
{
    nvtxDomainRangePop(domain);
}

void range_unrecorded(const char *names)
{
    char text[512];
    snprintf(text, sizeof(text), "not recorded: %s", names);
    const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = text};
    nvtxDomainMarkEx(domain, &event);
}
