/*
 * NVTX's domains and registered strings, which live as long as the process, and data kept for each thread. Reads texts
 * in each of NVTX's forms.
 */
#include "agent/nvtx/domains.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "common/map.h"
#include "common/text.h"
#include "common/threads.h"

/* --- threads --- */

__thread struct nvtx_thread nvtx_this_thread;

static struct thread_key at_thread_end;

static void thread_ended(void *unused)
{
    struct nvtx_thread *mine = &nvtx_this_thread;
    (void)unused;
    free(mine->more);
    free(mine->text);
    mine->more = NULL;
    mine->more_count = 0;
    mine->text = NULL;
}

int *nvtx_thread_more(uint32_t domain)
{
    struct nvtx_thread *mine = &nvtx_this_thread;
    uint32_t index = domain - NVTX_THREAD_DOMAINS;
    if (index < mine->more_count)
        return &mine->more[index];
    if (fork_unannounced())
        return NULL;
    uint32_t count = 2 * index + NVTX_THREAD_DOMAINS;
    int *more = realloc(mine->more, count * sizeof(*more));
    if (!more)
        return NULL;
    memset(more + mine->more_count, 0, (count - mine->more_count) * sizeof(*more));
    mine->more = more;
    mine->more_count = count;
    thread_key_set(&at_thread_end, thread_ended);
    return &more[index];
}

/* --- texts --- */

#define UTF8_MOST 4u                       /* maximum bytes of a character */
#define LONG_TEXT_BYTES ((size_t)17 << 10) /* longer than any text that is recorded whole */

struct gputrace_text nvtx_wide(struct nvtx_text *out, const wchar_t *text)
{
    size_t length = text ? utf8_from_wide(out->wide, sizeof(out->wide), text) : 0;
    struct nvtx_thread *mine = &nvtx_this_thread;
    if (length + UTF8_MOST <= sizeof(out->wide))
        return (struct gputrace_text){out->wide, (uint32_t)length};
    if (!mine->text && !fork_unannounced() && (mine->text = malloc(LONG_TEXT_BYTES)))
        thread_key_set(&at_thread_end, thread_ended);
    char *longer = mine->text; /* the thread's next long text overwrites this one */
    if (!longer)
        return (struct gputrace_text){out->wide, (uint32_t)length};
    length = utf8_from_wide(longer, LONG_TEXT_BYTES, text);
    if (length + UTF8_MOST > LONG_TEXT_BYTES) { /* the text is cut; a hash of the whole keeps it distinct */
        uint64_t hash = hash_bytes(text, wcslen(text) * sizeof(*text));
        memcpy(longer + length - sizeof(hash), &hash, sizeof(hash));
    }
    return (struct gputrace_text){longer, (uint32_t)length};
}

struct gputrace_text nvtx_message(int32_t type, nvtxMessageValue_t message, struct nvtx_text *out, uint32_t *string)
{
    const struct nvtx_string *registered = (const struct nvtx_string *)message.registered;
    if (string)
        *string = 0;
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII: return text_of(message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE: return nvtx_wide(out, message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        if (registered && string)
            *string = registered->number;
        return registered ? registered->text : (struct gputrace_text){0};
    default: return (struct gputrace_text){0};
    }
}

/* --- domains --- */

/* A registered string, or the name of a category. */
struct nvtx_named_text {
    struct nvtx_string string; /* for a category, its number is the category's */
    enum nvtx_named named;
    struct nvtx_named_text *next;      /* in order of creation */
    struct nvtx_named_text *same_hash; /* next string in the bucket of the hash */
};

static struct {
    pthread_mutex_t lock;
    const char *only, *without;
    struct nvtx_domain *first;
    struct nvtx_named_text *texts, *last_text;
    struct map names;      /* hash of a name -> the domain added last with this hash */
    struct map strings;    /* hash -> the string added last with this hash */
    struct map categories; /* domain and category -> the category's name */
    uint32_t domain_count, string_count;
    bool default_left_out; /* the program used the default domain, which is off */
} domains = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct nvtx_domain nvtx_default_domain;
#define DEFAULT_NAME "default" /* the user's name for the default domain */

/* --- domains that are on --- */

/* Whether the first item of *LIST is NAME. Moves *LIST to the next item. */
static bool is_next_item(const char **list, struct gputrace_text name)
{
    const char *at = *list;
    uint32_t length = 0;
    bool same = true;
    for (; *at && *at != ','; at++) {
        if (*at == '\\' && at[1])
            at++;
        same = same && length < name.length && name.bytes[length] == *at;
        length++;
    }
    *list = *at ? at + 1 : at;
    return same && length == name.length;
}

static bool is_listed(const char *list, struct gputrace_text name)
{
    bool listed = false;
    while (list && *list && !listed)
        listed = is_next_item(&list, name);
    return listed;
}

static bool is_on(struct gputrace_text name)
{
    return (!domains.only || is_listed(domains.only, name)) && !is_listed(domains.without, name);
}

void nvtx_domains_select(const char *only, const char *without)
{
    domains.only = only && *only ? only : NULL;
    domains.without = without;
    nvtx_default_domain.off = !is_on(text_of(DEFAULT_NAME));
}

bool nvtx_domains_are_listed(void)
{
    return domains.only != NULL;
}

/* --- domains and strings; under the lock --- */

static bool copy_text(struct gputrace_text *to, struct gputrace_text from)
{
    char *bytes = malloc((size_t)from.length + 1);
    if (!bytes)
        return false;
    if (from.length)
        memcpy(bytes, from.bytes, from.length);
    bytes[from.length] = '\0';
    *to = (struct gputrace_text){bytes, from.length};
    return true;
}

static struct nvtx_domain *find_or_add_domain(struct gputrace_text name, bool *is_new)
{
    uint64_t *last = map_put(&domains.names, hash_bytes(name.bytes, name.length), NULL);
    struct nvtx_domain *domain = last ? (struct nvtx_domain *)(uintptr_t)*last : NULL;
    for (; domain; domain = domain->same_hash)
        if (text_same(domain->name, name))
            return domain;
    domain = last ? calloc(1, sizeof(*domain)) : NULL;
    if (!domain || !copy_text(&domain->name, name)) {
        free(domain);
        return NULL;
    }
    domain->same_hash = (struct nvtx_domain *)(uintptr_t)*last;
    *last = (uintptr_t)domain;
    domain->off = !is_on(name);
    domain->number = ++domains.domain_count;
    domain->next = domains.first;
    domains.first = domain;
    *is_new = true;
    return domain;
}

static struct nvtx_named_text *add_text(enum nvtx_named named, uint32_t domain, uint32_t number,
                                        struct gputrace_text text)
{
    struct nvtx_named_text *added = calloc(1, sizeof(*added));
    if (!added || !copy_text(&added->string.text, text)) {
        free(added);
        return NULL;
    }
    added->named = named;
    added->string.domain = domain;
    added->string.number = number;
    *(domains.last_text ? &domains.last_text->next : &domains.texts) = added;
    domains.last_text = added;
    return added;
}

static struct nvtx_string *find_or_add_string(uint32_t domain, struct gputrace_text text, bool *is_new)
{
    uint64_t *first = map_put(&domains.strings, hash_bytes(text.bytes, text.length) + domain, NULL);
    if (!first)
        return NULL;
    struct nvtx_named_text *known = (struct nvtx_named_text *)(uintptr_t)*first;
    for (; known; known = known->same_hash)
        if (known->string.domain == domain && text_same(known->string.text, text))
            return &known->string;
    struct nvtx_named_text *added = add_text(NVTX_NAMED_STRING, domain, domains.string_count + 1, text);
    if (!added)
        return NULL;
    added->string.mark = nvtx_string_mark(&added->string);
    domains.string_count++;
    added->same_hash = (struct nvtx_named_text *)(uintptr_t)*first;
    *first = (uintptr_t)added;
    *is_new = true;
    return &added->string;
}

/* Keeps the category's name. Returns whether it differs from the one before. */
static bool keep_category(uint32_t domain, uint32_t category, struct gputrace_text name)
{
    uint64_t *known = map_put(&domains.categories, (uint64_t)domain << 32 | category, NULL);
    struct nvtx_named_text *text = known ? (struct nvtx_named_text *)(uintptr_t)*known : NULL;
    struct gputrace_text before = {0};
    if (text && text_same(text->string.text, name))
        return false;
    if (text) {
        before = text->string.text;
        if (copy_text(&text->string.text, name))
            free((char *)(uintptr_t)before.bytes);
    } else if (known) {
        *known = (uintptr_t)add_text(NVTX_NAMED_CATEGORY, domain, category, name);
    }
    return true;
}

/* --- publishing --- */

static void publish(enum nvtx_named named, uint32_t domain, uint32_t number, struct gputrace_text text)
{
    registry_nvtx_name_publish(&(struct gputrace_nvtx_name){
        .named = named, .domain = domain, .number = number, .stream = SPOOL_NO_STREAM, .text = text});
}

#define NAMED_AS(domain) ((domain)->off ? NVTX_NAMED_LEFT_OUT : NVTX_NAMED_DOMAIN)

void nvtx_default_domain_left_out(void)
{
    if (!__atomic_load_n(&domains.default_left_out, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&domains.default_left_out, true, __ATOMIC_RELAXED))
        publish(NVTX_NAMED_LEFT_OUT, 0, 0, text_of(DEFAULT_NAME));
}

struct nvtx_domain *nvtx_domain_of(struct gputrace_text name)
{
    bool is_new = false;
    if (fork_turned_away())
        return NULL;
    pthread_mutex_lock(&domains.lock);
    struct nvtx_domain *domain = find_or_add_domain(name, &is_new);
    pthread_mutex_unlock(&domains.lock);
    if (is_new)
        publish(NAMED_AS(domain), domain->number, 0, domain->name);
    return domain;
}

struct nvtx_string *nvtx_string_of(const struct nvtx_domain *domain, struct gputrace_text text)
{
    bool is_new = false;
    if (domain->off || fork_turned_away())
        return NULL;
    pthread_mutex_lock(&domains.lock);
    struct nvtx_string *string = find_or_add_string(domain->number, text, &is_new);
    pthread_mutex_unlock(&domains.lock);
    if (is_new)
        publish(NVTX_NAMED_STRING, string->domain, string->number, string->text);
    return string;
}

void nvtx_category_named(const struct nvtx_domain *domain, uint32_t category, struct gputrace_text name)
{
    if (domain->off || fork_turned_away())
        return;
    pthread_mutex_lock(&domains.lock);
    bool is_new = keep_category(domain->number, category, name);
    pthread_mutex_unlock(&domains.lock);
    if (is_new)
        publish(NVTX_NAMED_CATEGORY, domain->number, category, name);
}

/* --- fork --- */

void nvtx_domains_atfork_child(void)
{
    pthread_mutex_init(&domains.lock, NULL);
}

void nvtx_domains_republish(void)
{
    for (const struct nvtx_domain *domain = domains.first; domain; domain = domain->next)
        publish(NAMED_AS(domain), domain->number, 0, domain->name);
    for (const struct nvtx_named_text *text = domains.texts; text; text = text->next)
        publish(text->named, text->string.domain, text->string.number, text->string.text);
    domains.default_left_out = false; /* publishes the default domain again at its next use */
}
