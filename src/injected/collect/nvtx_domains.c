#include "injected/collect/nvtx_domains.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "injected/registry/registry.h"

struct nvtx_registered {
    struct nvtx_string string;
    struct nvtx_registered *next;
};

static struct {
    pthread_mutex_t lock;
    struct nvtx_domain standard; /* holds the strings of the default domain */
    struct nvtx_domain *first;
    uint32_t domains, strings;
} domains = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool copy_text(struct text *to, struct text from)
{
    char *bytes = malloc((size_t)from.length + 1);
    if (!bytes)
        return false;
    if (from.length)
        memcpy(bytes, from.bytes, from.length);
    bytes[from.length] = '\0';
    *to = (struct text){bytes, from.length};
    return true;
}

static bool same(struct text a, struct text b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static void tell(enum nvtx_named named, uint32_t domain, uint32_t number, struct text text)
{
    struct nvtx_name_event event = {.named = named, .domain = domain, .number = number, .text = text};
    event.stream = SPOOL_NO_STREAM;
    registry_nvtx_name_publish(&event);
}

static struct nvtx_domain *find_or_add_domain(struct text name, bool *is_new)
{
    for (struct nvtx_domain *domain = domains.first; domain; domain = domain->next)
        if (same(domain->name, name))
            return domain;
    struct nvtx_domain *domain = calloc(1, sizeof(*domain));
    if (!domain || !copy_text(&domain->name, name)) {
        free(domain);
        return NULL;
    }
    domain->number = ++domains.domains;
    domain->next = domains.first;
    domains.first = domain;
    *is_new = true;
    return domain;
}

struct nvtx_domain *nvtx_domain_of(struct text name)
{
    bool is_new = false;
    pthread_mutex_lock(&domains.lock);
    struct nvtx_domain *domain = find_or_add_domain(name, &is_new);
    pthread_mutex_unlock(&domains.lock);
    if (is_new)
        tell(NVTX_NAMED_DOMAIN, domain->number, 0, domain->name);
    return domain;
}

static struct nvtx_string *find_or_add_string(struct nvtx_domain *domain, struct text text, bool *is_new)
{
    for (struct nvtx_registered *known = domain->strings; known; known = known->next)
        if (same(known->string.text, text))
            return &known->string;
    struct nvtx_registered *added = calloc(1, sizeof(*added));
    if (!added || !copy_text(&added->string.text, text)) {
        free(added);
        return NULL;
    }
    added->string.domain = domain->number;
    added->string.number = ++domains.strings;
    added->next = domain->strings;
    domain->strings = added;
    *is_new = true;
    return &added->string;
}

struct nvtx_string *nvtx_string_of(struct nvtx_domain *domain, struct text text)
{
    bool is_new = false;
    pthread_mutex_lock(&domains.lock);
    struct nvtx_string *string = find_or_add_string(domain ? domain : &domains.standard, text, &is_new);
    pthread_mutex_unlock(&domains.lock);
    if (is_new)
        tell(NVTX_NAMED_STRING, string->domain, string->number, string->text);
    return string;
}

static void retell_strings(const struct nvtx_domain *domain)
{
    for (struct nvtx_registered *known = domain->strings; known; known = known->next)
        tell(NVTX_NAMED_STRING, known->string.domain, known->string.number, known->string.text);
}

void nvtx_domains_leave(void)
{
    pthread_mutex_init(&domains.lock, NULL);
}

void nvtx_domains_retell(void)
{
    retell_strings(&domains.standard);
    for (struct nvtx_domain *domain = domains.first; domain; domain = domain->next) {
        tell(NVTX_NAMED_DOMAIN, domain->number, 0, domain->name);
        retell_strings(domain);
    }
}
