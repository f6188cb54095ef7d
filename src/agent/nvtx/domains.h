/* NVTX's domains, registered strings and categories, texts, and data kept for each thread. */
#ifndef GPUTRACE_AGENT_NVTX_DOMAINS_H
#define GPUTRACE_AGENT_NVTX_DOMAINS_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"

/* The object behind our nvtxDomainHandle_t. It lives as long as the process, even if the program destroys the domain:
 * other modules may have the same domain, and its events may be under way. */
struct nvtx_domain {
    uint32_t number;
    bool off;                  /* the user turned the domain off: only its name is published */
    struct gputrace_text name; /* empty for the default domain */
    struct nvtx_domain *next;
    struct nvtx_domain *same_hash; /* next domain in the bucket of the name's hash */
};

/* The domain number 0, which has neither name nor handle. */
extern struct nvtx_domain nvtx_default_domain;

static inline struct nvtx_domain *nvtx_domain_ours(nvtxDomainHandle_t domain)
{
    return domain ? (struct nvtx_domain *)domain : &nvtx_default_domain;
}

/* Sets which domains are on: those in ONLY (NULL: all) that are not in WITHOUT (NULL: none). Both are names separated
 * by commas, in which a backslash quotes the next character; "default" is the default domain. The texts must live as
 * long as the process. Must be called before the first domain is created. */
void nvtx_domains_select(const char *only, const char *without);

/* Whether ONLY was given: if the program uses none of those domains, the last line on stderr names the domains that it
 * used. */
bool nvtx_domains_are_listed(void);

/* Returns the domain with this name, created and published if it is new. Returns NULL if there is no memory, or in an
 * unannounced child (registry.h). */
struct nvtx_domain *nvtx_domain_of(struct gputrace_text name);

/* Publishes, once, that the program used the default domain, which is off. */
void nvtx_default_domain_left_out(void);

/* The object behind our nvtxStringHandle_t. It lives as long as the process. */
struct nvtx_string {
    uint32_t domain;
    uint32_t number;
    struct gputrace_text text;
    uintptr_t mark; /* nvtx_string_mark() */
};

/* Marks a registered string, so that a handle in a payload, a number that the program wrote, can be checked. */
static inline uintptr_t nvtx_string_mark(const struct nvtx_string *string)
{
    return (uintptr_t)string ^ UINT64_C(0x6776747874737472);
}

/* Returns the registered string with this text, created and published if it is new. Returns NULL if there is no memory,
 * in an unannounced child, or if the domain is off. */
struct nvtx_string *nvtx_string_of(const struct nvtx_domain *domain, struct gputrace_text text);

/* Publishes a category's name, if it is new. */
void nvtx_category_named(const struct nvtx_domain *domain, uint32_t category, struct gputrace_text name);

/* In a forked child: resets the lock, which another thread may have held. */
void nvtx_domains_atfork_child(void);

/* In a forked child that records: publishes every name again, because the names are in the parent's spool. */
void nvtx_domains_republish(void);

/* Space for a wide text that is converted to UTF-8. A longer text goes to memory of the thread, because a program's
 * threads may have small stacks. */
#define NVTX_WIDE_BYTES 1024
struct nvtx_text {
    char wide[NVTX_WIDE_BYTES]; /* not initialised */
};

/* Returns TEXT in UTF-8. The result is valid as long as OUT, and until this thread converts another text. */
struct gputrace_text nvtx_wide(struct nvtx_text *out, const wchar_t *text);

/* Returns the text of a message. TYPE is an nvtxMessageType_t. The text is empty if there is no message, or one of an
 * unknown type. Sets *STRING, unless STRING is NULL, to the number of a registered string, else to 0. */
struct gputrace_text nvtx_message(int32_t type, nvtxMessageValue_t message, struct nvtx_text *out, uint32_t *string);

/* Whether ATTRIBUTES, by its own size member, includes FIELD. */
#define NVTX_HAS(attributes, field) \
    ((attributes)->size >= offsetof(__typeof__(*(attributes)), field) + sizeof((attributes)->field))

/* Data kept for each thread: the number of open ranges in each domain, and memory for a long text. */
#define NVTX_THREAD_DOMAINS 8u /* domains with a counter in the struct itself */
struct nvtx_thread {
    int first[NVTX_THREAD_DOMAINS];
    int *more; /* counters of further domains; freed when the thread ends */
    uint32_t more_count;
    char *text; /* freed when the thread ends */
};
extern __thread struct nvtx_thread nvtx_this_thread;

int *nvtx_thread_more(uint32_t domain);

/* Returns this thread's counter of open ranges in DOMAIN, or NULL if there is no memory. */
static inline int *nvtx_thread_depth(uint32_t domain)
{
    return domain < NVTX_THREAD_DOMAINS ? &nvtx_this_thread.first[domain] : nvtx_thread_more(domain);
}

/* NVTX's extensions, types and numbers only, without the functions that their headers define for programs. */
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
