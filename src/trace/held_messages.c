/* Holds back or drops messages of single threads, by the process's receiver of messages (log_set_receiver()). */
#include "trace/held_messages.h"

#include "common/buffer.h"
#include "common/log.h"

static _Thread_local struct buffer *held;
static _Thread_local bool errors_only;

static bool receive(enum log_level level, const char *line, size_t length)
{
    bool dropped = errors_only && level > LOG_QUIET;
    if (held && !dropped)
        buffer_bytes(held, line, length);
    return held || dropped;
}

void messages_hold(struct buffer *text)
{
    held = text;
    log_set_receiver(receive);
}

bool messages_quiet(bool quiet)
{
    bool was = errors_only;
    errors_only = quiet;
    log_set_receiver(receive);
    return was;
}
