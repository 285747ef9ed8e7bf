namespace Tunnel2.Protocol;

/// <summary>Finds the word that a misspelt one was probably meant to be. Pure.</summary>
internal static class NearestWord
{
    /// <summary>The most similar known word, in any case, or null when none is similar.</summary>
    public static string? Find(string written, IEnumerable<string> known)
    {
        string? best = null;
        int bestDistance = Math.Max(2, written.Length / 3) + 1;
        foreach (string word in known)
        {
            int distance = Distance(written.ToUpperInvariant(), word.ToUpperInvariant());
            if (distance < bestDistance)
            {
                best = word;
                bestDistance = distance;
            }
        }

        return best;
    }

    // Levenshtein distance with one row.
    private static int Distance(string a, string b)
    {
        int[] row = [.. Enumerable.Range(0, b.Length + 1)];
        for (int i = 1; i <= a.Length; i++)
        {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.Length; j++)
            {
                int above = row[j];
                int substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
                row[j] = Math.Min(substitution, Math.Min(above, row[j - 1]) + 1);
                diagonal = above;
            }
        }

        return row[b.Length];
    }
}
