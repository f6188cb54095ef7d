/*
 * Accepts connections on 127.0.0.1, reads a request of each, and sends the reply and the file. Ends when the file was
 * fetched or nobody fetched it in time.
 */
#include "cli/trace_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define CONNECTIONS 16u
#define HEAD_MOST 8192 /* bytes of a request; browsers send less than 2000 */
#define REPLY_MOST 640
#define SEND_MOST ((size_t)1 << 20) /* bytes of the file in one step, so that other connections have their turn */
#define HEAD_NS (10 * NS_PER_S)     /* limit for the arrival of a request */
#define STALL_NS (30 * NS_PER_S)    /* limit without progress of a reply */
#define CLOSING_NS (5 * NS_PER_S)   /* limit for the client to receive the last bytes */
#define CLOSING_POLL_MS 20          /* time between checks of closing connections */

enum state { FREE, READING, REPLYING, SENDING, CLOSING };

struct connection {
    int fd;
    enum state state;
    bool sends_file;    /* the connection fetches or has fetched the file */
    uint64_t since;     /* time of the connection or of its last progress (CLOCK_MONOTONIC, ns) */
    uint64_t at;        /* bytes of the file that were sent */
    size_t have;        /* bytes of the request that were read */
    size_t reply, said; /* bytes of the reply, and of these the bytes that were sent */
    char head[HEAD_MOST];
    char text[REPLY_MOST];
};

struct serving {
    struct trace_server *server;
    struct connection connections[CONNECTIONS];
    uint64_t progress; /* time when a byte of the file was last sent (CLOCK_MONOTONIC, ns) */
    bool fetched, failed;
};

int trace_server_open(struct trace_server *server)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(VIEW_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listener < 0)
        return error("cannot open a socket: %s", strerror(errno));
    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)); /* because closed connections linger */
    if (bind(server->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(server->listener, (int)CONNECTIONS) == 0)
        return 0;
    int failure = errno;
    close(server->listener);
    server->listener = -1;
    if (failure == EADDRINUSE)
        return error(
            "port %d is in use, and ui.perfetto.dev fetches from no other: end the program that uses it, perhaps "
            "another 'gputrace view'",
            VIEW_PORT);
    return error("cannot listen on " VIEW_HOST ": %s", strerror(failure));
}

static void end_connection(struct connection *connection)
{
    close(connection->fd);
    connection->state = FREE;
}

/* Returns a free entry for a new connection. If there is none, closes the oldest connection without a complete request
 * or with a refused one. Returns NULL if all are busy. */
static struct connection *find_place(struct serving *serving)
{
    struct connection *oldest = NULL;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        if (connection->state == FREE)
            return connection;
        bool idle = connection->state == READING || (connection->state == CLOSING && !connection->sends_file);
        if (idle && (!oldest || connection->since < oldest->since))
            oldest = connection;
    }
    if (oldest)
        end_connection(oldest);
    return oldest;
}

static void accept_one(struct serving *serving)
{
    int fd = accept4(serving->server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct connection *place = fd >= 0 ? find_place(serving) : NULL;
    if (place) {
        place->fd = fd;
        place->state = READING;
        place->sends_file = false;
        place->since = clock_monotonic();
        place->at = 0;
        place->have = place->reply = place->said = 0;
    } else if (fd >= 0) {
        close(fd);
    }
}

/* --- replies --- */

#define COMMON_HEADERS "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
#define FOR_PERFETTO "Access-Control-Allow-Origin: " VIEW_ORIGIN "\r\nVary: Origin\r\n"

static void write_reply(const struct serving *serving, struct connection *connection,
                        const struct view_request *request)
{
    const char *status = "400 Bad Request";
    int length = 0;
    switch (request->answer) {
    case VIEW_FILE:
    case VIEW_HEAD:
        length = snprintf(connection->text, REPLY_MOST,
                          "HTTP/1.1 200 OK\r\n" COMMON_HEADERS FOR_PERFETTO
                          "Content-Type: application/octet-stream\r\nContent-Length: %llu\r\n\r\n",
                          (unsigned long long)serving->server->size);
        break;
    case VIEW_PREFLIGHT:
        length = snprintf(connection->text, REPLY_MOST,
                          "HTTP/1.1 204 No Content\r\n" COMMON_HEADERS FOR_PERFETTO
                          "Access-Control-Allow-Methods: GET, HEAD\r\n%s\r\n",
                          request->private_network ? "Access-Control-Allow-Private-Network: true\r\n" : "");
        break;
    case VIEW_FORBIDDEN: status = "403 Forbidden"; break;
    case VIEW_NOT_FOUND: status = "404 Not Found"; break;
    default: break;
    }
    if (length == 0)
        length = snprintf(connection->text, REPLY_MOST, "HTTP/1.1 %s\r\n" COMMON_HEADERS "Content-Length: 0\r\n\r\n",
                          status);
    connection->reply = (size_t)length;
    connection->sends_file = request->answer == VIEW_FILE;
    connection->state = REPLYING;
}

static void read_request(struct serving *serving, struct connection *connection)
{
    ssize_t size = read(connection->fd, connection->head + connection->have, HEAD_MOST - connection->have);
    if (size <= 0) {
        if (size == 0 || (errno != EAGAIN && errno != EINTR))
            end_connection(connection);
        return;
    }
    connection->have += (size_t)size;
    struct view_request request = view_request_read(connection->head, connection->have, serving->server->path);
    if (request.answer == VIEW_INCOMPLETE && connection->have < HEAD_MOST)
        return;
    write_reply(serving, connection, &request);
}

static bool may_go_on(ssize_t size)
{
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Ends sending; the connection stays open until the client has received all bytes. */
static void begin_closing(struct connection *connection)
{
    shutdown(connection->fd, SHUT_WR);
    connection->state = CLOSING;
    connection->since = clock_monotonic();
}

static void send_reply(struct connection *connection)
{
    ssize_t size =
        send(connection->fd, connection->text + connection->said, connection->reply - connection->said, MSG_NOSIGNAL);
    if (!may_go_on(size)) {
        end_connection(connection);
        return;
    }
    if (size <= 0)
        return;
    connection->since = clock_monotonic();
    connection->said += (size_t)size;
    if (connection->said < connection->reply)
        return;
    if (connection->sends_file)
        connection->state = SENDING;
    else
        begin_closing(connection);
}

static void send_file(struct serving *serving, struct connection *connection)
{
    const struct trace_server *server = serving->server;
    uint64_t left = server->size - connection->at;
    off_t at = (off_t)connection->at;
    ssize_t size =
        left > 0 ? sendfile(connection->fd, server->file, &at, left < SEND_MOST ? (size_t)left : SEND_MOST) : 0;
    if (size > 0) {
        connection->at += (uint64_t)size;
        connection->since = serving->progress = clock_monotonic();
    } else if (left > 0 && !may_go_on(size)) {
        if (size == 0)
            warning("the trace became shorter while it was fetched");
        end_connection(connection);
        return;
    }
    if (connection->at == server->size)
        begin_closing(connection);
}

/* Ends a connection if the client has closed it or has received the whole file. */
static void look_at_closing(struct serving *serving, struct connection *connection)
{
    char bytes[4096];
    int left = 0;
    ssize_t size = read(connection->fd, bytes, sizeof(bytes));
    bool closed = size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
    bool taken = ioctl(connection->fd, SIOCOUTQ, &left) == 0 && left == 0;
    if (!closed && !(taken && connection->sends_file))
        return;
    serving->fetched |= connection->sends_file && (taken || size == 0);
    if (closed)
        end_connection(connection);
}

/* --- the loop --- */

static void serve(struct serving *serving, struct connection *connection)
{
    switch (connection->state) {
    case READING: read_request(serving, connection); break;
    case REPLYING: send_reply(connection); break;
    case SENDING: send_file(serving, connection); break;
    case CLOSING: look_at_closing(serving, connection); break;
    case FREE: break;
    }
}

/* Waits for events of all connections and handles them. Returns 0, or -1 after error(). */
static int turn(struct serving *serving)
{
    struct pollfd polled[CONNECTIONS + 1];
    struct connection *of[CONNECTIONS];
    nfds_t count = 0;
    int wait_ms = 200; /* the limits of connections are checked at least this often */
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        if (connection->state == FREE)
            continue;
        if (connection->state == CLOSING)
            wait_ms = CLOSING_POLL_MS;
        of[count] = connection;
        bool reads = connection->state == READING || connection->state == CLOSING;
        polled[count++] = (struct pollfd){.fd = connection->fd, .events = reads ? POLLIN : POLLOUT};
    }
    polled[count] = (struct pollfd){.fd = serving->server->listener, .events = POLLIN};
    if (poll(polled, count + 1, wait_ms) < 0 && errno != EINTR)
        return error("cannot wait for connections: %s", strerror(errno));
    for (nfds_t i = 0; i < count; i++)
        if (polled[i].revents || of[i]->state == CLOSING)
            serve(serving, of[i]);
    if (polled[count].revents & POLLIN)
        accept_one(serving);
    return 0;
}

static bool is_sending(const struct serving *serving)
{
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const struct connection *connection = &serving->connections[i];
        if (connection->sends_file && (connection->state == REPLYING || connection->state == SENDING))
            return true;
    }
    return false;
}

enum trace_server_end trace_server_run(struct trace_server *server, uint64_t timeout_ns)
{
    static struct serving serving;
    enum trace_server_end end = TRACE_SERVER_FETCHED;
    serving = (struct serving){.server = server, .progress = clock_monotonic()};
    signal(SIGPIPE, SIG_IGN); /* which sendfile() would raise */
    while (!serving.fetched || is_sending(&serving)) {
        if (turn(&serving) < 0) {
            end = TRACE_SERVER_FAILED;
            break;
        }
        uint64_t now = clock_monotonic();
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            struct connection *each = &serving.connections[i];
            uint64_t most = each->state == READING ? HEAD_NS : each->state == CLOSING ? CLOSING_NS : STALL_NS;
            if (each->state != FREE && now - each->since > most)
                end_connection(each);
        }
        if (!serving.fetched && timeout_ns > 0 && now - serving.progress > timeout_ns) {
            end = TRACE_SERVER_TIMED_OUT;
            break;
        }
    }
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (serving.connections[i].state != FREE)
            end_connection(&serving.connections[i]);
    close(server->listener);
    server->listener = -1;
    return end;
}

/* --- requests --- */

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

/* Splits REST at the next END: PIECE becomes the text before it, REST the text behind it. Returns false without END. */
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

/* Returns whether LINE has no control characters but tabs: other programs might read them as the end of a line. */
static bool is_clean(struct piece line)
{
    for (size_t i = 0; i < line.length; i++)
        if ((line.at[i] >= 0 && line.at[i] < ' ' && line.at[i] != '\t') || line.at[i] == 0x7f)
            return false;
    return true;
}

/* Facts from the headers. Hosts and origins are counted, because programs read repeated headers differently. */
struct headers {
    unsigned hosts, origins;
    bool right_host, right_origin;
    bool wants_get; /* Access-Control-Request-Method: GET or HEAD */
    bool private_network;
};

/* Reads a header line. Returns false if LINE is not a header. */
static bool read_header(struct headers *headers, struct piece line)
{
    struct piece name, value = line;
    if (!is_clean(line) || !take(&value, ":", &name) || name.length == 0 || memchr(name.at, ' ', name.length) ||
        memchr(name.at, '\t', name.length))
        return false;
    while (value.length > 0 && strchr(" \t", value.at[0]))
        value = (struct piece){value.at + 1, value.length - 1};
    while (value.length > 0 && strchr(" \t", value.at[value.length - 1]))
        value.length--;
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
    head.length += 2; /* with the end of its last line */
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
