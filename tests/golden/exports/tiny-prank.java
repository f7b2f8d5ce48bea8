/**
 * Scores of a model of rankwright, the same bits as its predict gives.
 *
 * <p>x has a value for each of names(), in this order; NaN if it is missing.
 */
public final class model {
    private model() {}

    private static final java.util.List<String> NAMES = lines("bm25\nprice\nage");

    public static java.util.List<String> names() {
        return NAMES;
    }

    private static final java.util.List<String> CLASSES = lines("0.0\n1.0\n2.0");

    public static java.util.List<String> classes() {
        return CLASSES;
    }

    private static final double[] WEIGHT = numbers(
        "4.583774398167928 4.546166666666666 0.16305457011982805");
    private static final double[] BIAS = numbers(
        "0.0");
    private static final double[] THRESHOLD = numbers(
        "-1.481819233218829 3.234847433447838");

    private static double sum(double[] x, int k) {
        double[] lane = new double[8];
        double rest = 0.0;
        int n = WEIGHT.length / BIAS.length, whole = n / 8 * 8;
        for (int j = 0; j < n; ++j) {
            double v = x[j];
            if (j < whole) {
                lane[j % 8] += WEIGHT[k * n + j] * v;
            } else {
                rest += WEIGHT[k * n + j] * v;
            }
        }
        for (int l = 0; l < 4; ++l) {
            lane[l] += lane[l + 4];
        }
        return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest + BIAS[k];
    }

    public static double score(double[] x) {
        return sum(x, 0);
    }

    public static double score(float[] x) {
        return sum(doubles(x), 0);
    }

    /** The label is classes().get(label(x)). */
    public static int label(double[] x) {
        double s = sum(x, 0);
        int place = 0;
        while (place < THRESHOLD.length && s >= THRESHOLD[place]) {
            ++place;
        }
        return place;
    }

    public static int label(float[] x) {
        return label(doubles(x));
    }

    private static double[] doubles(float[] x) {
        double[] y = new double[x.length];
        for (int j = 0; j < x.length; ++j) {
            y[j] = x[j];
        }
        return y;
    }

    private static double[] numbers(String... texts) {
        return java.util.Arrays.stream(texts)
            .flatMap(text -> java.util.Arrays.stream(text.split(" ")))
            .mapToDouble(Double::parseDouble)
            .toArray();
    }

    private static int[] integers(String... texts) {
        return java.util.Arrays.stream(numbers(texts)).mapToInt(v -> (int) v).toArray();
    }

    private static java.util.List<String> lines(String... texts) {
        return java.util.Arrays.stream(texts)
            .flatMap(text -> java.util.Arrays.stream(text.split("\n")))
            .collect(java.util.stream.Collectors.toUnmodifiableList());
    }
}
