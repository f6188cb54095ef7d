#include "cli/pftrace_texts.h"

#include <string.h>

#include "cli/event_records.h"
#include "trace/pftrace/interned.h"

void pftrace_texts_release(struct pftrace_texts *texts)
{
    interner_release(&texts->strings);
    array_release(&texts->meanings);
}

void pftrace_texts_forget(struct pftrace_texts *texts)
{
    interner_release(&texts->strings);
    texts->meanings.count = 0;
    texts->count = 0;
    texts->nameless = intern(&texts->strings, "", 0);
}

static struct pftrace_meaning *meaning_of(struct pftrace_texts *texts, uint32_t number)
{
    while (number < texts->strings.count && texts->meanings.count <= number) {
        struct pftrace_meaning *meaning = array_push(&texts->meanings);
        if (!meaning)
            break;
        *meaning = (struct pftrace_meaning){0};
    }
    if (number < texts->meanings.count)
        return &texts->meanings.items[number];
    texts->failed = true;
    texts->nothing = (struct pftrace_meaning){.known = true, .number = 1};
    return &texts->nothing;
}

const struct pftrace_meaning *pftrace_texts_meaning(struct pftrace_texts *texts, uint32_t number)
{
    number = number == PFTRACE_UNKNOWN ? texts->nameless : number;
    struct pftrace_meaning *meaning = meaning_of(texts, number);
    if (meaning->known)
        return meaning;
    const struct interned *text = interner_at(&texts->strings, number);
    meaning->known = true;
    meaning->is_from = strcmp(text->text, "from") == 0;
    meaning->category = event_category_find(text->text, text->length);
    meaning->field = event_field_find(text->text, text->length);
    return meaning;
}

uint32_t pftrace_texts_number(struct pftrace_texts *texts, uint32_t number)
{
    number = number == PFTRACE_UNKNOWN ? texts->nameless : number;
    struct pftrace_meaning *meaning = meaning_of(texts, number);
    if (meaning->number == 0) {
        const struct interned *text = interner_at(&texts->strings, number);
        event_records_put_text(texts->sink, text->text, text->length);
        meaning->number = ++texts->count;
    }
    return meaning->number - 1;
}

uint32_t pftrace_texts_passing(struct pftrace_texts *texts, const char *text, size_t length)
{
    uint32_t number = intern(&texts->strings, length ? text : "", length);
    texts->failed |= number == INTERN_NO_MEMORY;
    return pftrace_texts_number(texts, number);
}
