/*
 * NVTX: an injection of our own, which works without a GPU and without a driver.
 *
 * NVTX's header loads the library once for each module (executable or shared library) of the program that uses it, and
 * each time asks for its functions. Domains of one name are one domain, also when different modules made them.
 */
#ifndef GPUTRACE_AGENT_NVTX_NVTX_H
#define GPUTRACE_AGENT_NVTX_NVTX_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/payload.h"

/* NVTX's extensions without the functions that their headers give to programs: types and numbers only. */
#pragma push_macro("NVTX_DECLSPEC")
#pragma push_macro("NVTX_NO_IMPL")
#undef NVTX_DECLSPEC
#undef NVTX_NO_IMPL
#define NVTX_DECLSPEC
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtMemCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#pragma pop_macro("NVTX_NO_IMPL")
#pragma pop_macro("NVTX_DECLSPEC")

/* --- our functions in NVTX's tables: nvtx.c --- */

/* Puts our functions into the table of the module that calls. Returns 1, or 0 when the module's NVTX is unknown. */
int nvtx_attach(NvtxGetExportTableFunc_t export_table);

/* Puts our functions into the table of an extension (payloads, counters, memory). NVTX's header of an extension loads
 * the library at the first call of it, once for each module of the program. Returns 1, also for an unknown extension,
 * whose functions then do nothing; 0: the table is unknown. */
int nvtx_extension_attach(const nvtxExtModuleInfo_t *module);

/* A row for each function of ours. A list of rows ends with one that is all zero. */
struct nvtx_function {
    unsigned module; /* NVTX_CB_MODULE_…; 0: an extension's */
    unsigned id;     /* within the module, or within the extension: NVTX3EXT_CBID_… */
    NvtxFunctionPointer function;
};
#define NVTX_FUNCTION(module, name, function) \
    {NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, (NvtxFunctionPointer)(function)}
#define NVTX_EXTENSION_FUNCTION(name, function) {0, NVTX3EXT_CBID_##name, (NvtxFunctionPointer)(function)}

extern const struct nvtx_function nvtx_default_events[];  /* events.c: ranges and marks of the default domain */
extern const struct nvtx_function nvtx_left_out_events[]; /* … where that is off */
extern const struct nvtx_function nvtx_domain_events[];   /* … and of any domain */
extern const struct nvtx_function nvtx_names[]; /* names.c: domains, strings, categories, objects, synchronisation */
extern const struct nvtx_function nvtx_schema_functions[];
extern const struct nvtx_function nvtx_payload_functions[]; /* events.c */
extern const struct nvtx_function nvtx_clock_functions[];
extern const struct nvtx_function nvtx_counter_functions[];
extern const struct nvtx_function nvtx_memory_functions[];

/* --- domains and registered strings: domains.c --- */

/* What an nvtxDomainHandle_t of ours points to. It lives as long as the process, also when the program destroys it:
 * other modules may have the same domain, and its events may be on their way. */
struct nvtx_domain {
    uint32_t number;
    bool off;                  /* the user does not want to see it: nothing is published but its name */
    struct gputrace_text name; /* empty: the default domain */
    struct nvtx_domain *next;
    struct nvtx_domain *same_hash; /* of the name */
};

/* The domain without name and handle, number 0. */
extern struct nvtx_domain nvtx_default_domain;

static inline struct nvtx_domain *nvtx_domain_ours(nvtxDomainHandle_t domain)
{
    return domain ? (struct nvtx_domain *)domain : &nvtx_default_domain;
}

/* Sets which domains are on: those in ONLY (NULL: all) that are not in WITHOUT (NULL: none). Both are names with commas
 * between, where a backslash takes the character after it as it is; "default" is the default domain. The texts must
 * live as long as the process. To be called before the first domain is made. */
void nvtx_domains_select(const char *only, const char *without);

/* Whether ONLY was given: if the program uses none of those domains, the last line names the domains that it used. */
bool nvtx_domains_are_listed(void);

/* The domain of this name, made and published when it is new. NULL: no memory, or a child that was not announced
 * (fork_watch.h). */
struct nvtx_domain *nvtx_domain_of(struct gputrace_text name);

/* The program used the default domain, which is off: publishes that once. */
void nvtx_default_domain_left_out(void);

/* What an nvtxStringHandle_t of ours points to. Lives as long as the process. */
struct nvtx_string {
    uint32_t domain;
    uint32_t number;
    struct gputrace_text text;
    uintptr_t mark; /* nvtx_string_mark() */
};

/* Shows that a handle leads to a registered string: a handle in a payload is a number that the program wrote. */
static inline uintptr_t nvtx_string_mark(const struct nvtx_string *string)
{
    return (uintptr_t)string ^ UINT64_C(0x6776747874737472);
}

/* The registered string of this text, made and published when it is new. NULL: as above, or the domain is off. */
struct nvtx_string *nvtx_string_of(const struct nvtx_domain *domain, struct gputrace_text text);

/* Publishes a category's name. */
void nvtx_category_named(const struct nvtx_domain *domain, uint32_t category, struct gputrace_text name);

/* In a forked child: another thread may have held the lock. */
void nvtx_domains_atfork_child(void);

/* In a forked child that records: publishes every name again, because they went into the parent's spool. */
void nvtx_domains_republish(void);

/* --- texts: domains.c --- */

/* A wide text becomes UTF-8 here. A longer one goes to memory of the thread, because a program's threads may have small
 * stacks. */
#define NVTX_WIDE_BYTES 1024
struct nvtx_text {
    char wide[NVTX_WIDE_BYTES]; /* not initialised */
};

/* Lives as long as OUT, and until this thread converts another text. */
struct gputrace_text nvtx_wide(struct nvtx_text *out, const wchar_t *text);

/* TYPE is an nvtxMessageType_t. The text is empty when there is no message, or one of an unknown type. *STRING (may be
 * NULL) becomes the number of a registered string, else 0. */
struct gputrace_text nvtx_message(int32_t type, nvtxMessageValue_t message, struct nvtx_text *out, uint32_t *string);

/* Whether FIELD lies within the size that ATTRIBUTES has according to itself. */
#define NVTX_HAS(attributes, field) \
    ((attributes)->size >= offsetof(__typeof__(*(attributes)), field) + sizeof((attributes)->field))

/* --- threads: domains.c --- */

/* What is kept for each thread: how many ranges of each domain are open, and memory for a long text. */
#define NVTX_THREAD_DOMAINS 8u /* domains whose depth needs no memory beyond the thread's own */
struct nvtx_thread {
    int first[NVTX_THREAD_DOMAINS];
    int *more; /* of the domains after those; freed when the thread ends */
    uint32_t more_count;
    char *text; /* freed when the thread ends */
};
extern __thread struct nvtx_thread nvtx_this_thread;

int *nvtx_thread_more(uint32_t domain);

/* Returns this thread's counter of open ranges in DOMAIN. NULL: no memory. */
static inline int *nvtx_thread_depth(uint32_t domain)
{
    return domain < NVTX_THREAD_DOMAINS ? &nvtx_this_thread.first[domain] : nvtx_thread_more(domain);
}

/* --- definitions: definitions.c --- */

/*
 * NVTX's extensions define schemas, scopes, clocks and counters once and refer to them later. A definition is published
 * at once, and kept to be published again in a forked child, whose spool needs it too.
 */

/* An extension record of a struct at STRUCT_AT; designated initialisers may follow. */
#define NVTX_RECORD(name, struct_at, ...) \
    (&(struct gputrace_nvtx_extension){   \
        .type = SPOOL_RECORD_NVTX_##name, .bytes = sizeof(*(struct_at)), .record = (struct_at), __VA_ARGS__})

/* Publishes a record while recording is on, or always; its time is now when it has none. */
void nvtx_publish(struct gputrace_nvtx_extension *what);

/* Publishes a record always, and again in forked children. */
void nvtx_define(struct gputrace_nvtx_extension *what);

/* In a forked child that records: publishes all definitions again, for its own spool. */
void nvtx_definitions_republish(void);

/* Returns a number that no other definition has. */
uint32_t nvtx_definition_number(void);

/* The id of a definition: the program's own CHOSEN where it lies in NVTX's range for these, else a new one. */
uint64_t nvtx_definition_id(uint64_t chosen);

/* Adds ITEM to a list that only grows, and that other threads read without a lock. */
#define NVTX_LIST_PUSH(first, item)                                \
    do {                                                           \
        (item)->next = __atomic_load_n((first), __ATOMIC_RELAXED); \
    } while (!__atomic_compare_exchange_n((first), &(item)->next, (item), true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))

/* Definitions by domain and id, which only grow and are read without a lock. */
struct nvtx_known {
    uint64_t id;
    uint32_t domain;
    struct nvtx_known *next;
};
struct nvtx_known_table {
    struct nvtx_known *buckets[4096]; /* a program may register one schema after the other */
};
void nvtx_known_add(struct nvtx_known_table *table, struct nvtx_known *known);
/* The latest of this id; NULL: there is none. */
struct nvtx_known *nvtx_known_find(struct nvtx_known_table *table, uint32_t domain, uint64_t id);

/* --- clocks: definitions.c --- */

/*
 * Events and counters may be timed by the program's own clocks, which it hands over as functions, and by clocks of the
 * system. Each is read beside the trace's clock from time to time.
 */

/* Something is timed by this clock: an NVTX_TIMESTAMP_TYPE_… or the id of a time domain. */
void nvtx_clock_used(uint64_t id);

/* Reads all clocks that were not read for a while; to be called where the program hands over times. */
void nvtx_clocks_read(void);

/* The process ends: reads all clocks that can still be read. */
void nvtx_clocks_finish(void);

/* --- payload schemas: schemas.c --- */

/* The schema of this id that was registered last in the domain of this number; NULL: there is none. It is never changed
 * nor freed. Names and descriptions are published and not kept. */
const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id);

/* Defines what a list of semantics (unit, limits, scope, clock) says of entry INDEX of the schema with the number OF,
 * or of the counter with that number. */
enum { NVTX_SEMANTICS_OF_ENTRY = 0, NVTX_SEMANTICS_OF_COUNTER = 1 };
void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index);

/* --- payloads: payload_copy.c --- */

/*
 * Payloads of an event are copied as the program hands them over (common/spool_nvtx.h), with what pointers in them lead
 * to where the schema says that they are followed: strings, which could not be shown otherwise, and what is marked for
 * a deep copy. What another payload of the event holds is not copied again. A plain address is never followed: it may
 * be a device's.
 */

/* Publishes copies of COUNT payloads of an event at TIME. Returns their number; 0: there is none. EVENT (NULL: it has
 * no attributes) gets the message, category and colour that they hold; its texts live as long as TEXT and the
 * program's. */
uint64_t nvtx_payloads_copy(const struct nvtx_domain *domain, uint64_t time, const nvtxPayloadData_t *payloads,
                            size_t count, struct gputrace_nvtx *event, struct nvtx_text *text);

/* Publishes events of SCHEMA that lie STRIDE bytes apart, and FLEXIBLE, which they may point into. */
uint64_t nvtx_payloads_copy_batch(const struct nvtx_domain *domain, uint64_t time, const struct payload_schema *schema,
                                  const nvtxPayloadData_t *events, size_t stride, const nvtxPayloadData_t *flexible);

/* Fills category, colour, payload and message of EVENT with what ATTRIBUTES (may be NULL) has of them. A struct of
 * attributes has its size in it: fields beyond its size, or beyond those known here, are not read. Texts live as long
 * as TEXT and the program's argument. */
void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *text);

/* Bytes of one payload of SCHEMA, or of a type of NVTX's; 0: they differ, or the schema is unknown. */
uint64_t nvtx_payload_stride(const struct nvtx_domain *domain, uint64_t schema);

/* --- the program's memory: program_memory.c --- */

/*
 * A pointer in a payload may be wrong, and it may be a device's: memory behind it is read only where it can be. The
 * kernel is asked for each page, which costs a system call, so memory that the program vouches for is not asked about.
 * A page that another thread unmaps meanwhile is the program's own race.
 */

/* Returns how many of SIZE bytes at AT can be read. */
size_t program_readable(uint64_t at, size_t size);

/* Characters of WIDTH bytes (1, 2, 4) before the first that is zero, where they can be read, and within SIZE bytes. */
size_t program_text_length(uint64_t at, size_t width, size_t size);

#endif
