// Bytes in bulk: as many as pass, and how many of them when.
#include "loadgen.h"

struct stream {
    int fd, done;
    uint64_t begun, moved;  // bytes asked for or to be sent; bytes received, or sent
    uint64_t answered;      // blocks that the backend has had
};

// Both say whether the stream is over.
static int download(struct stream *stream, uint64_t until) {
    for (int turn = 0; turn < 8; turn++) {
        ssize_t got = recv(stream->fd, buffer, bufferSize, MSG_TRUNC);
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) fail("a download ended after %llu bytes", (unsigned long long)stream->moved);
        stream->moved += (uint64_t)got;
        while (stream->begun - stream->moved < (uint64_t)(ahead - 1) * block && now() < until) {
            if (ask(stream->fd, 'S', block)) failErrno("send");
            stream->begun += block;
        }
        if (stream->moved == stream->begun) return 1;
    }
    return 0;
}

static int upload(struct stream *stream, uint64_t until) {
    for (int turn = 0; turn < 8; turn++) {
        if (stream->moved == stream->begun) {
            if (stream->begun && now() >= until) break;
            stream->begun += block;
        }
        ssize_t sent = sendSome(stream->fd, stream->begun - stream->moved);
        if (sent < 0 && errno == EAGAIN) break;
        if (sent < 0) failErrno("send");
        stream->moved += (uint64_t)sent;
    }
    int sent = stream->moved == stream->begun && now() >= until;
    if (sent) watch(EPOLL_CTL_MOD, stream->fd, EPOLLIN, stream);
    ssize_t got = recv(stream->fd, buffer, 4096, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        fail("an upload ended after %llu bytes", (unsigned long long)stream->moved);
    if (got > 0) stream->answered += (uint64_t)got;
    return sent && stream->answered == stream->begun / block;
}

static uint64_t movedBytes(const struct stream *streams, int count) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += streams[i].moved;
    return bytes;
}

static void printBulk(uint64_t bytes, uint64_t start, double processor) {
    printf("{\"bytes\":%llu,\"seconds\":%.6f,\"processor\":%.6f}\n", (unsigned long long)bytes,
           (double)(now() - start) / 1e9, ownProcessorSeconds() - processor);
    fflush(stdout);
}

int bulk(int port, int up, int count, double seconds, uint64_t report) {
    giveUpAfter(seconds + 60);
    struct stream *streams = calloc((size_t)count, sizeof *streams);
    for (int i = 0; i < count; i++) streams[i].fd = dial(port);
    usleep(20000);
    uint64_t start = now(), until = start + (uint64_t)(seconds * 1e9);
    uint64_t nextReport = report ? start + report * 1000000 : UINT64_MAX;
    double processor = ownProcessorSeconds();
    for (int i = 0; i < count; i++) {
        if (up && ask(streams[i].fd, 'D', block)) failErrno("send");
        for (int k = 0; !up && k < ahead; k++, streams[i].begun += block)
            if (ask(streams[i].fd, 'S', block)) failErrno("send");
        dontWait(streams[i].fd);
        watch(EPOLL_CTL_ADD, streams[i].fd, EPOLLIN | (up ? EPOLLOUT : 0), &streams[i]);
    }
    for (int open = count; open;) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            struct stream *stream = events[i].data.ptr;
            if (stream->done || !(up ? upload(stream, until) : download(stream, until))) continue;
            stream->done = 1;
            epoll_ctl(epoll, EPOLL_CTL_DEL, stream->fd, NULL);
            open--;
        }
        if (report && now() >= nextReport) {
            printBulk(movedBytes(streams, count), start, processor);
            nextReport += report * 1000000;
        }
    }
    printBulk(movedBytes(streams, count), start, processor);
    return 0;
}

int meter(int port, double seconds, uint64_t binMilliseconds) {
    giveUpAfter(seconds + 60);
    size_t count = (size_t)(seconds * 1000 / (double)binMilliseconds), used = 0;
    uint64_t *bins = calloc(count, sizeof *bins), first = 0, last = 0, early = 0, total = 0, asked;
    int fd = dial(port);
    usleep(20000);
    asked = now();
    if (ask(fd, 'S', (uint64_t)1 << 50)) failErrno("send");
    for (;;) {
        ssize_t got = recv(fd, buffer, bufferSize, MSG_TRUNC);
        uint64_t time = now();
        if (got <= 0) fail("the download ended after %llu bytes", (unsigned long long)total);
        if (!first) first = time, early = (uint64_t)got;
        size_t bin = (size_t)((time - first) / (binMilliseconds * 1000000));
        if (bin >= count) break;
        bins[bin] += (uint64_t)got;
        total += (uint64_t)got;
        last = time;
        used = bin + 1;
    }
    // From the first arrival to the last: what the last brought has taken the time since the one before.
    double rate = last > first ? (double)(total - early) / ((double)(last - first) / 1e9) : 0;
    printf("{\"rate\":%.3f,\"bytes\":%llu,\"firstAfter\":%.6f,\"bins\":[", rate, (unsigned long long)total,
           (double)(first - asked) / 1e9);
    for (size_t i = 0; i < used; i++) printf("%s%llu", i ? "," : "", (unsigned long long)bins[i]);
    puts("]}");
    return 0;
}
