/* Scores of a model of rankwright, the same bits as its predict gives.
 *
 * x has a value for each of model_names, in this order; NAN if it is missing.
 * Products and sums must be rounded one by one, so this does not compile with -ffast-math or x87
 * arithmetic. */
#ifndef RANKWRIGHT_model_H
#define RANKWRIGHT_model_H

#include <float.h>
#include <math.h>

#if defined(__FAST_MATH__) || !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD < 0 || \
    FLT_EVAL_METHOD > 1
#error "model: doubles must be rounded as doubles; compile without -ffast-math, with -mfpmath=sse"
#endif

enum { model_n_features = 3, model_n_classes = 3 };
static const char *const model_names[] = {
    "bm25",
    "price",
    "age"};
static const char *const model_classes[] = {
    "0.0",
    "1.0",
    "2.0"};
static const double model_weight[] = {
    4.583774398167928, 4.546166666666666, 0.16305457011982805};
static const double model_bias[] = {
    0.0};
static const double model_threshold[] = {
    -1.481819233218829, 3.234847433447838};

static inline double model_at(const double *x, const float *f, int j) {
    const double v = x ? x[j] : (double)f[j];
    return v;
}

static inline double model_sum(const double *x, const float *f, int k) {
    const double *w = model_weight + (long)k * model_n_features;
    double lane[8] = {0.0}, rest = 0.0;
    const int whole = model_n_features / 8 * 8;
    for (int j = 0; j < model_n_features; ++j) {
        volatile double product = w[j] * model_at(x, f, j);
        if (j < whole)
            lane[j % 8] += product;
        else
            rest += product;
    }
    for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest + model_bias[k];
}

static inline double model_score(const double *x) { return model_sum(x, 0, 0); }
static inline double model_score_float(const float *x) { return model_sum(0, x, 0); }

static inline int model_place(const double *x, const float *f) {
    const double s = model_sum(x, f, 0);
    int place = 0;
    while (place < model_n_classes - 1 && s >= model_threshold[place]) ++place;
    return place;
}

/* The label is model_classes[model_label(x)]. */
static inline int model_label(const double *x) { return model_place(x, 0); }
static inline int model_label_float(const float *x) { return model_place(0, x); }

#endif
