/* Parses the request line and the headers of one HTTP request, and decides what it gets. */
#include "cli/view_request.h"

#include <string.h>
#include <strings.h>

struct piece {
    const char *at;
    size_t length;
};

static bool is_text(struct piece piece, const char *text)
{
    return piece.length == strlen(text) && memcmp(piece.at, text, piece.length) == 0;
}

static bool is_name(struct piece piece, const char *name)
{
    return piece.length == strlen(name) && strncasecmp(piece.at, name, piece.length) == 0;
}

/* What stands before the next END, which is passed. False: there is none. */
static bool take(struct piece *rest, const char *end, struct piece *piece)
{
    const char *found = memmem(rest->at, rest->length, end, strlen(end));
    if (!found)
        return false;
    *piece = (struct piece){rest->at, (size_t)(found - rest->at)};
    rest->length -= piece->length + strlen(end);
    rest->at = found + strlen(end);
    return true;
}

static struct piece trim(struct piece piece)
{
    while (piece.length > 0 && strchr(" \t", piece.at[0]))
        piece = (struct piece){piece.at + 1, piece.length - 1};
    while (piece.length > 0 && strchr(" \t", piece.at[piece.length - 1]))
        piece.length--;
    return piece;
}

/* Printable, with blanks, and no byte that ends lines for others. */
static bool is_clean(struct piece line)
{
    for (size_t i = 0; i < line.length; i++)
        if ((line.at[i] >= 0 && line.at[i] < ' ' && line.at[i] != '\t') || line.at[i] == 0x7f)
            return false;
    return true;
}

/* What the headers say. Counts, as a header that comes twice means different things to different programs. */
struct headers {
    unsigned hosts, origins;
    bool right_host, right_origin;
    bool wants_get; /* Access-Control-Request-Method: GET or HEAD */
    bool private_network;
};

/* False: it is not a header. */
static bool read_header(struct headers *headers, struct piece line)
{
    struct piece name, value = line;
    if (!is_clean(line) || !take(&value, ":", &name) || name.length == 0 || memchr(name.at, ' ', name.length) ||
        memchr(name.at, '\t', name.length))
        return false;
    value = trim(value);
    if (is_name(name, "Host")) {
        headers->hosts++;
        headers->right_host = is_text(value, VIEW_HOST);
    } else if (is_name(name, "Origin")) {
        headers->origins++;
        headers->right_origin = is_text(value, VIEW_ORIGIN);
    } else if (is_name(name, "Access-Control-Request-Method")) {
        headers->wants_get = is_text(value, "GET") || is_text(value, "HEAD");
    } else if (is_name(name, "Access-Control-Request-Private-Network")) {
        headers->private_network = is_text(value, "true");
    }
    return true;
}

static enum view_answer answer_to(struct piece method, struct piece target, const struct headers *headers,
                                  const char *path)
{
    bool get = is_text(method, "GET"), head = is_text(method, "HEAD"), options = is_text(method, "OPTIONS");
    if (headers->hosts != 1 || headers->origins != 1 || !headers->right_host || !headers->right_origin)
        return VIEW_FORBIDDEN;
    if ((!get && !head && !options) || (options && !headers->wants_get))
        return VIEW_FORBIDDEN;
    if (!is_text(target, path))
        return VIEW_NOT_FOUND;
    return get ? VIEW_FILE : head ? VIEW_HEAD : VIEW_PREFLIGHT;
}

struct view_request view_request_read(const char *text, size_t length, const char *path)
{
    struct view_request request = {.answer = VIEW_INCOMPLETE};
    struct piece all = {text, length}, head, line, method, target;
    struct headers headers = {0};
    if (!take(&all, "\r\n\r\n", &head))
        return request;
    head.length += 2; /* the end of its last line */
    request.answer = VIEW_MALFORMED;
    if (!take(&head, "\r\n", &line) || !is_clean(line) || !take(&line, " ", &method) || !take(&line, " ", &target))
        return request;
    if (!is_text(line, "HTTP/1.1") && !is_text(line, "HTTP/1.0"))
        return request;
    while (take(&head, "\r\n", &line))
        if (!read_header(&headers, line))
            return request;
    request.answer = answer_to(method, target, &headers, path);
    request.private_network = headers.private_network;
    return request;
}
