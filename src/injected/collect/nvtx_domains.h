/*
 * NVTX domains and registered strings: handles for the program, numbers for the spool.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_NVTX_DOMAINS_H
#define GPUTRACE_INJECTED_COLLECT_NVTX_DOMAINS_H

#include <stdint.h>

#include "injected/collect/nvtx_message.h"

/* What an nvtxDomainHandle_t of ours points to; NULL is the default domain, number 0. Lives as long as the process. */
struct nvtx_domain {
    uint32_t number;
    struct text name;
    struct nvtx_domain *next;
    struct nvtx_registered *strings;
};

/* The domain of this name, made and told to the registry when it is new; NULL: no memory. */
struct nvtx_domain *nvtx_domain_of(struct text name);

/* The registered string of this text in the domain, made and told when it is new; NULL: no memory. */
struct nvtx_string *nvtx_string_of(struct nvtx_domain *domain, struct text text);

static inline uint32_t nvtx_domain_number(const struct nvtx_domain *domain)
{
    return domain ? domain->number : 0;
}

/* In a forked child: another thread may have held the lock. */
void nvtx_domains_leave(void);

/* In a forked child that records: tells every domain and string again, for they went into the parent's spool. */
void nvtx_domains_retell(void);

#endif
