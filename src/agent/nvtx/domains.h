/* NVTX's domains, registered strings and categories, texts, and what is kept for each thread. */
#ifndef GPUTRACE_AGENT_NVTX_DOMAINS_H
#define GPUTRACE_AGENT_NVTX_DOMAINS_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"

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
 * (registry.h). */
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

#endif
