/*
 * NVTX domains and the strings registered in them, texts in NVTX's forms, and what is kept for each thread.
 */
#ifndef GPUTRACE_AGENT_NVTX_DOMAINS_H
#define GPUTRACE_AGENT_NVTX_DOMAINS_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"

/*
 * NVTX's attributes and texts in all their forms, read into the registry's.
 *
 * A struct of attributes says how long it is: what lies beyond its size, or beyond the ones known here, is not read.
 */

/* A wide text becomes UTF-8 here, a longer one in memory of the thread: threads of programs may have small stacks. */
#define NVTX_WIDE_BYTES 1024

struct nvtx_text {
    char wide[NVTX_WIDE_BYTES]; /* not initialised */
};

/* What an nvtxStringHandle_t of ours points to. Lives as long as the process. */
struct nvtx_string {
    uint32_t domain;
    uint32_t number;
    struct gputrace_text text;
    uintptr_t mark; /* nvtx_string_mark(): it is a registered string, which is never freed and never changes */
};

/* A handle in a payload is a number that the program wrote, and may lead to anything. */
static inline uintptr_t nvtx_string_mark(const struct nvtx_string *string)
{
    return (uintptr_t)string ^ UINT64_C(0x6776747874737472);
}

struct gputrace_text nvtx_ascii(const char *text);

/* Lives as long as OUT, and until this thread converts another text. */
struct gputrace_text nvtx_wide(struct nvtx_text *out, const wchar_t *text);

/* TYPE is an nvtxMessageType_t; empty when there is no message, or of a type that is not known. *STRING (may be NULL)
 * becomes the number of a registered one, else 0. */
struct gputrace_text nvtx_message(int32_t type, nvtxMessageValue_t message, struct nvtx_text *room, uint32_t *string);

/* Whether FIELD lies within the size that ATTRIBUTES says of itself. */
#define NVTX_HAS(attributes, field) \
    ((attributes)->size >= offsetof(__typeof__(*(attributes)), field) + sizeof((attributes)->field))

/* Whether ATTRIBUTES (may be NULL) have nothing but a message, which needs no room of ours. */
static inline bool nvtx_is_message_alone(const nvtxEventAttributes_t *attributes)
{
    return attributes && NVTX_HAS(attributes, message) && attributes->category == 0 &&
           attributes->colorType == NVTX_COLOR_UNKNOWN && attributes->payloadType == NVTX_PAYLOAD_UNKNOWN &&
           (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII ||
            attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED);
}

/*
 * What is kept of each thread: how deep it is in the ranges of each domain, and room for a long text.
 */

/* Domains whose depth needs no memory beyond the thread's own. */
#define NVTX_THREAD_DOMAINS 8u

struct nvtx_thread {
    int first[NVTX_THREAD_DOMAINS];
    int *more; /* of the domains after those; freed when the thread ends */
    uint32_t more_count;
    char *text; /* likewise */
};
extern __thread struct nvtx_thread nvtx_this_thread;

int *nvtx_thread_more(uint32_t domain);

/* Where the depth in DOMAIN is counted: ranges that are open now. NULL: no memory. */
static inline int *nvtx_thread_depth(uint32_t domain)
{
    return domain < NVTX_THREAD_DOMAINS ? &nvtx_this_thread.first[domain] : nvtx_thread_more(domain);
}

/* Room for a text, which the next long one takes again; longer than any text that is recorded whole. */
#define NVTX_THREAD_TEXT ((size_t)17 << 10)

/*
 * NVTX domains and what is named in them: handles for the program, numbers for the spool.
 *
 * The user may want to see some domains only. One that is off has a handle like any other, and nothing of it is
 * published but that the program has it.
 */

/* What an nvtxDomainHandle_t of ours points to. Lives as long as the process, also when the program destroys it: other
 * modules may have the same domain, and its events be on their way. */
struct nvtx_domain {
    uint32_t number;
    bool off;
    struct gputrace_text name; /* empty: the default one's */
    struct nvtx_domain *next;
};

/* The one without name and handle, number 0. */
extern struct nvtx_domain nvtx_default_domain;

/*
 * Which domains are on: those in ONLY (NULL: all) that are not in WITHOUT (NULL: none). Both are names with commas
 * between, where a backslash takes the character after it as it is; "default" is the default one. Texts must live as
 * long as the process. Before the first domain is made.
 */
void nvtx_domains_select(const char *only, const char *without);

/* Whether ONLY was given: if none of those domains is used, the last line names the domains that were. */
bool nvtx_domains_are_listed(void);

/* The domain of this name, made and published to the registry when it is new; NULL: no memory, or the child was not
 * announced (fork_watch.h). */
struct nvtx_domain *nvtx_domain_of(struct gputrace_text name);

/* The program used the default domain, which is off: publishes that once. */
void nvtx_default_domain_left_out(void);

/* The registered string of this text in the domain, made and published when it is new; NULL: likewise, or it is off. */
struct nvtx_string *nvtx_string_of(const struct nvtx_domain *domain, struct gputrace_text text);

/* Publishes a category's name. */
void nvtx_category_named(const struct nvtx_domain *domain, uint32_t category, struct gputrace_text name);

static inline struct nvtx_domain *nvtx_domain_ours(nvtxDomainHandle_t domain)
{
    return domain ? (struct nvtx_domain *)domain : &nvtx_default_domain;
}

/* In a forked child: another thread may have held the lock. */
void nvtx_domains_atfork_child(void);

/* In a forked child that records: publishes every name again, because they went into the parent's spool. */
void nvtx_domains_republish(void);

#endif
