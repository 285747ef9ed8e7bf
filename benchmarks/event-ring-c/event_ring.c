/*
 * The event ring's protocol in C, as the reference of the .NET implementation: the same claim (fetch-add, or compare-and-swap behind a
 * cached minimum under "wait"), the same ownership swap, the same slot layout, the same CRC-32C, the same checks by the reader.
 * Build: gcc -O2 -march=native -pthread -o event_ring event_ring.c
 * Use:   event_ring lockstep|batch|producers <payload bytes> <records> [crc 0|1]
 * Prints nanoseconds per record.
 */
#define _GNU_SOURCE
#include <nmmintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CAPACITY = 4096, SLOT = 256, HEADER = 16, MAX_PAYLOAD = SLOT - HEADER, BATCH = 32 };

typedef struct {
    _Alignas(128) _Atomic int64_t head;
    _Alignas(128) _Atomic int32_t blocking;
    _Alignas(4096) char slots[CAPACITY * SLOT];
} ring_t;

static ring_t *ring;
static int use_crc = 1;

static inline char *slot_of(int64_t n) { return ring->slots + (n & (CAPACITY - 1)) * SLOT; }

static inline uint64_t copy_in(char *slot, const char *payload, int length, uint16_t type, int64_t n) {
    uint64_t meta = (uint16_t)length | (uint64_t)type << 16;
    char *to = slot + HEADER;
    if (!use_crc) {
        memcpy(to, payload, (size_t)length);
        return meta;
    }
    uint64_t crc = _mm_crc32_u64(_mm_crc32_u64(0xFFFFFFFFu, (uint64_t)n), meta);
    int i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t w;
        memcpy(&w, payload + i, 8);
        memcpy(to + i, &w, 8);
        crc = _mm_crc32_u64(crc, w);
    }
    if (i < length) {
        uint64_t w = 0;
        memcpy(&w, payload + i, (size_t)(length - i));
        memcpy(to + i, &w, 8);
        crc = _mm_crc32_u64(crc, w);
    }
    return meta | (uint64_t)(uint32_t)~crc << 32;
}

static inline int fill(int64_t n, uint16_t type, const char *payload, int length) {
    char *slot = slot_of(n);
    _Atomic int64_t *word = (_Atomic int64_t *)slot;
    int64_t seen = atomic_load_explicit(word, memory_order_acquire);
    if ((uint64_t)seen > (uint64_t)n || !atomic_compare_exchange_strong(word, &seen, -(n + 1))) return 0;
    uint64_t meta = copy_in(slot, payload, length, type, n);
    if (atomic_load_explicit(word, memory_order_relaxed) != -(n + 1)) return 0;
    memcpy(slot + 8, &meta, 8);
    atomic_store_explicit(word, n + 1, memory_order_release);
    return 1;
}

static __attribute__((noinline)) int publish(uint16_t type, const char *payload, int length) {
    if (length > MAX_PAYLOAD) return 0;
    for (int attempt = 0; attempt < 16; attempt++)
        if (fill(atomic_fetch_add(&ring->head, 1), type, payload, length))
            return atomic_load_explicit(&ring->blocking, memory_order_acquire) == 0;
    return 0;
}

static __attribute__((noinline)) void publish_batch(uint16_t type, const char *payloads, int stride, int length, int count) {
    int64_t first = atomic_fetch_add(&ring->head, count);
    for (int i = 0; i < count; i++)
        if (!fill(first + i, type, payloads + i * stride, length)) publish(type, payloads + i * stride, length);
}

/* 1 record, 0 nothing yet, -1 lapped, -2 corrupt */
static inline int take(int64_t cursor, char *to, uint64_t *meta_out) {
    char *slot = slot_of(cursor);
    _Atomic int64_t *word = (_Atomic int64_t *)slot;
    int64_t seen = atomic_load_explicit(word, memory_order_acquire);
    if (seen != cursor + 1) return (seen < 0 ? -seen : seen) > cursor + 1 ? -1 : 0;
    uint64_t meta;
    memcpy(&meta, slot + 8, 8);
    int length = (uint16_t)meta, intact = length <= MAX_PAYLOAD;
    if (intact && use_crc) {
        uint64_t crc = _mm_crc32_u64(_mm_crc32_u64(0xFFFFFFFFu, (uint64_t)cursor), (uint32_t)meta);
        for (int i = 0; i < length; i += 8) {
            uint64_t w;
            memcpy(&w, slot + HEADER + i, 8);
            memcpy(to + i, &w, 8);
            crc = _mm_crc32_u64(crc, w);
        }
        intact = (uint32_t)~crc == (uint32_t)(meta >> 32);
    } else if (intact) {
        memcpy(to, slot + HEADER, (size_t)length);
    }
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(word, memory_order_relaxed) != cursor + 1) return -1;
    *meta_out = meta;
    return intact ? 1 : -2;
}

static __attribute__((noinline)) int poll_one(int64_t *cursor, char *to, uint64_t *meta) {
    int r = take(*cursor, to, meta);
    if (r == 1) (*cursor)++;
    return r;
}

static __attribute__((noinline)) int poll_batch(int64_t *cursor, char *to, int stride, uint64_t *metas, int max) {
    int count = 0;
    while (count < max && take(*cursor, to + count * stride, &metas[count]) == 1) {
        count++;
        (*cursor)++;
    }
    return count;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int length_arg;
static long count_arg;

static void *producer(void *unused) {
    char payload[MAX_PAYLOAD] = {1};
    (void)unused;
    for (long i = 0; i < count_arg; i++) publish(1, payload, length_arg);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    length_arg = atoi(argv[2]);
    count_arg = atol(argv[3]);
    if (argc > 4) use_crc = atoi(argv[4]);
    if (length_arg < 8 || length_arg > MAX_PAYLOAD || count_arg < BATCH) return 2;
    ring = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    char in[BATCH * MAX_PAYLOAD] = {0}, out[BATCH * MAX_PAYLOAD];
    uint64_t metas[BATCH];
    int64_t cursor = 0, sum = 0, expected = 0;
    double started = now();
    if (!strcmp(argv[1], "lockstep")) {
        for (int64_t i = 0; i < count_arg; i++) {
            memcpy(in, &i, 8);
            publish(1, in, length_arg);
            if (poll_one(&cursor, out, metas) != 1) return 3;
            int64_t v;
            memcpy(&v, out, 8);
            sum += v;
            expected += i;
        }
    } else if (!strcmp(argv[1], "batch")) {
        for (int64_t i = 0; i < count_arg; i += BATCH) {
            for (int j = 0; j < BATCH; j++) {
                int64_t v = i + j;
                memcpy(in + j * MAX_PAYLOAD, &v, 8);
                expected += v;
            }
            publish_batch(1, in, MAX_PAYLOAD, length_arg, BATCH);
            if (poll_batch(&cursor, out, MAX_PAYLOAD, metas, BATCH) != BATCH) return 3;
            for (int j = 0; j < BATCH; j++) {
                int64_t v;
                memcpy(&v, out + j * MAX_PAYLOAD, 8);
                sum += v;
            }
        }
    } else if (!strcmp(argv[1], "producers")) {
        pthread_t threads[3];
        long records = 0, missed = 0, total = 3 * count_arg;
        for (int p = 0; p < 3; p++) pthread_create(&threads[p], NULL, producer, NULL);
        while (records + missed < total) {
            int r = poll_one(&cursor, out, metas);
            if (r == 1) records++;
            else if (r == -1) {
                int64_t oldest = atomic_load(&ring->head) - CAPACITY;
                if (oldest <= cursor) oldest = cursor + 1;
                missed += oldest - cursor;
                cursor = oldest;
            } else if (r == -2) return 4;
        }
        for (int p = 0; p < 3; p++) pthread_join(threads[p], NULL);
        printf("%.2f\n", (now() - started) / (double)total);
        return 0;
    } else return 2;
    if (sum != expected) return 5;
    printf("%.2f\n", (now() - started) / (double)count_arg);
    return 0;
}
