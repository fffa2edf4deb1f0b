// A stand-in for a game like ours, in plain C: a 256-byte state, a switch over ten cards, a list of actions, a random
// pick, a queue moved by memmove. It does the same kind of work as Oriflamme with simpler rules, as a lower bound of the
// cost of a decision. Do not change it: figures would no longer be comparable.
//
//     gcc -O3 -march=native -shared -fPIC
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { DECISIONS = 124 };  // per playout

typedef struct {
    uint64_t s[4];
} Rng;

static inline uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t nx(Rng *r) {
    uint64_t *s = r->s, o = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return o;
}

static inline uint32_t below(Rng *r, uint32_t n) {
    return ((uint64_t)(uint32_t)nx(r) * n) >> 32;
}

typedef struct {
    uint8_t kind[32], owner[32], tok[32], rev[32];
    uint8_t len, idx, player, phase;
    int16_t score[5];
    uint16_t hand[5];
    uint8_t pad[128 - 4 - 20];
} St;

static int legal(const St *S, uint8_t *a) {
    int n = 0;
    switch (S->kind[S->idx]) {
    case 0:
        a[n++] = 0;
        if (S->len > 1) a[n++] = S->len - 1;
        break;
    case 1:
        a[n++] = 1;
        break;
    case 2:
        a[n++] = 2;
        break;
    case 3:
        if (S->idx) a[n++] = S->idx - 1;
        if (S->idx + 1 < S->len) a[n++] = S->idx + 1;
        break;
    case 4:
        if (S->idx && S->owner[S->idx - 1] != S->owner[S->idx]) a[n++] = S->idx - 1;
        if (S->idx + 1 < S->len && S->owner[S->idx + 1] != S->owner[S->idx]) a[n++] = S->idx + 1;
        break;
    case 5:
        for (int i = 0; i < S->len; i++)
            if (i != S->idx) a[n++] = i;
        break;
    case 6:
        for (int i = 0; i <= S->len; i++) a[n++] = i;
        break;
    default: {
        unsigned m = S->hand[S->player];
        while (m) {
            a[n++] = __builtin_ctz(m);
            m &= m - 1;
        }
    }
    }
    if (!n) a[n++] = 255;
    return n;
}

static void mv(uint8_t *p, int d, int s, int n) {
    memmove(p + d, p + s, n);
}

static void apply(St *S, int a) {
    int i = S->idx;
    switch (S->kind[i]) {
    case 0:
    case 3:
    case 5:
        if (a < S->len && S->len > 6) {
            int m = S->len - a - 1;
            mv(S->kind, a, a + 1, m);
            mv(S->owner, a, a + 1, m);
            mv(S->tok, a, a + 1, m);
            mv(S->rev, a, a + 1, m);
            S->len--;
            S->score[S->player]++;
        }
        break;
    case 1:
    case 2:
        S->score[S->player] += a;
        break;
    case 4:
        S->score[S->player]++;
        break;
    default:
        if (S->len < 20) {
            int p = (a & 1) ? 0 : S->len;
            if (!p) {
                mv(S->kind, 1, 0, S->len);
                mv(S->owner, 1, 0, S->len);
                mv(S->tok, 1, 0, S->len);
                mv(S->rev, 1, 0, S->len);
            }
            S->kind[p] = a % 10;
            S->owner[p] = S->player;
            S->tok[p] = 0;
            S->rev[p] = 0;
            S->len++;
        }
    }
    S->player = (S->player + 1) % 5;
    S->idx = (S->idx + 1) % S->len;
}

static void init(St *S, Rng *r) {
    memset(S, 0, sizeof *S);
    S->len = 8;
    for (int i = 0; i < 8; i++) {
        S->kind[i] = below(r, 10);
        S->owner[i] = i % 5;
    }
    for (int i = 0; i < 5; i++) S->hand[i] = 0x3ff;
}

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// Play n times from one table dealt from `seed`; return the seconds of thread CPU time used.
double playouts(uint64_t n, uint64_t seed) {
    Rng r = {{seed | 1, seed * 7 + 3, seed ^ 0x9e3779b97f4a7c15ULL, 42}};
    for (int i = 0; i < 20; i++) nx(&r);
    St root;
    init(&root, &r);
    volatile int sink = 0;
    uint8_t act[64];
    double t = cpu();
    for (uint64_t k = 0; k < n; k++) {
        St S = root;
        for (int i = 0; i < DECISIONS; i++) {
            int m = legal(&S, act);
            apply(&S, act[below(&r, m)]);
        }
        sink += S.score[0];
    }
    return cpu() - t;
}

int decisions_per_playout(void) {
    return DECISIONS;
}
