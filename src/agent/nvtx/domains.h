/*
 * NVTX domains and what is named in them: handles for the program, numbers for the spool.
 *
 * The user may want to see some domains only. One that is off has a handle like any other, and nothing is told of it
 * but that the program has it.
 */
#ifndef GPUTRACE_AGENT_NVTX_DOMAINS_H
#define GPUTRACE_AGENT_NVTX_DOMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/nvtx/message.h"

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

/* The domain of this name, made and told to the registry when it is new; NULL: no memory, or the child was not
 * announced (fork_watch.h). */
struct nvtx_domain *nvtx_domain_of(struct gputrace_text name);

/* The program used the default domain, which is off: tells the registry once. */
void nvtx_default_domain_left_out(void);

/* The registered string of this text in the domain, made and told when it is new; NULL: likewise, or it is off. */
struct nvtx_string *nvtx_string_of(const struct nvtx_domain *domain, struct gputrace_text text);

/* Tells a category's name. */
void nvtx_category_named(const struct nvtx_domain *domain, uint32_t category, struct gputrace_text name);

static inline struct nvtx_domain *nvtx_domain_ours(nvtxDomainHandle_t domain)
{
    return domain ? (struct nvtx_domain *)domain : &nvtx_default_domain;
}

/* In a forked child: another thread may have held the lock. */
void nvtx_domains_leave(void);

/* In a forked child that records: tells every name again, for they went into the parent's spool. */
void nvtx_domains_retell(void);

#endif
