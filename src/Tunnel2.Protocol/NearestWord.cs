namespace Tunnel2.Protocol;

/// <summary>Finds the word that a misspelt one was probably meant to be. Pure.</summary>
internal static class NearestWord
{
    /// <summary>Longer words are compared with nothing: the work grows with both lengths, and the input is a stranger's.</summary>
    private const int Longest = 64;

    /// <summary>The most similar known word, in any case, or null when none is similar.</summary>
    public static string? Find(string written, IEnumerable<string> known)
    {
        if (written.Length is 0 or > Longest)
        {
            return null;
        }

        string? best = null;
        int bestDistance = Math.Max(2, written.Length / 3) + 1;
        foreach (string word in known)
        {
            int distance = word.Length > Longest ? int.MaxValue : Distance(written.ToUpperInvariant(), word.ToUpperInvariant());
            if (distance < bestDistance)
            {
                best = word;
                bestDistance = distance;
            }
        }

        return best;
    }

    // Damerau-Levenshtein distance (optimal string alignment) with three rows: two letters that changed places count once.
    private static int Distance(string a, string b)
    {
        int[] before = new int[b.Length + 1];
        int[] above = [.. Enumerable.Range(0, b.Length + 1)];
        int[] row = new int[b.Length + 1];
        for (int i = 1; i <= a.Length; i++)
        {
            row[0] = i;
            for (int j = 1; j <= b.Length; j++)
            {
                int change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
                row[j] = Math.Min(change, Math.Min(above[j], row[j - 1]) + 1);
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                {
                    row[j] = Math.Min(row[j], before[j - 2] + 1);
                }
            }

            (before, above, row) = (above, row, before);
        }

        return above[b.Length];
    }
}
