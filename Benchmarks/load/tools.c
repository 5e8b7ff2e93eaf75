// Sockets, time and latencies, for all parts of the load generator.
#include "loadgen.h"

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("loadgen: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void failErrno(const char *what) { fail("%s: %s", what, strerror(errno)); }

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t nanosecondsSince1970(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

double ownProcessorSeconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void onAlarm(int signal) {
    (void)signal;
    static const char text[] = "loadgen: still not done, given up\n";
    if (write(2, text, sizeof text - 1)) {}
    _exit(1);
}

void giveUpAfter(double seconds) {
    signal(SIGALRM, onAlarm);
    alarm((unsigned)seconds + 1);
}

struct sockaddr_in loopback(uint32_t host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(host);
    return address;
}

int newSocket(int flags) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) failErrno("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

int dial(int port) {
    struct sockaddr_in address = loopback(INADDR_LOOPBACK, port);
    int fd = newSocket(0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) failErrno("connect");
    return fd;
}

void dontWait(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

void watch(int operation, int fd, uint32_t events, void *owner) {
    struct epoll_event event = {.events = events, .data.ptr = owner};
    if (epoll_ctl(epoll, operation, fd, &event)) failErrno("epoll_ctl");
}

int sendAll(int fd, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    while (count) {
        ssize_t sent = send(fd, next, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            poll(&room, 1, 1000);
        } else if (sent < 0) {
            return -1;
        } else {
            next += sent;
            count -= (size_t)sent;
        }
    }
    return 0;
}

int ask(int fd, char letter, uint64_t number) {
    unsigned char request[requestSize] = {(unsigned char)letter};
    memcpy(request + 8, &number, 8);
    return sendAll(fd, request, sizeof request);
}

ssize_t sendSome(int fd, uint64_t left) {
    return send(fd, buffer, left < sendSize ? left : sendSize, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keep(struct samples *samples, uint64_t nanoseconds) {
    if (samples->count == samples->room) {
        samples->room = samples->room ? 2 * samples->room : 1 << 20;
        samples->values = realloc(samples->values, samples->room * sizeof *samples->values);
        if (!samples->values) failErrno("realloc");
    }
    samples->values[samples->count++] = nanoseconds;
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static double quantile(const struct samples *samples, double part) {
    if (!samples->count) return 0;
    size_t index = (size_t)(part * (double)samples->count);
    return (double)samples->values[index < samples->count ? index : samples->count - 1] / 1e3;
}

void printSamples(struct samples *samples) {
    if (samples->count) qsort(samples->values, samples->count, sizeof *samples->values, ascending);
    printf("\"count\":%zu,\"min\":%.2f,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"p999\":%.2f,\"max\":%.2f",
           samples->count, quantile(samples, 0), quantile(samples, .5), quantile(samples, .9), quantile(samples, .99),
           quantile(samples, .999), quantile(samples, 1));
}
