namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Finds the key that a misspelt one was probably meant to be.</summary>
internal static class SpellingSuggestion
{
    /// <summary>The nearest of the known keys, or null when none is near.</summary>
    public static string? Find(string written, IReadOnlyList<string> known)
    {
        // The right word in the wrong group: HttpListen for Public:HttpListen.
        var lastWord = written[(written.LastIndexOf(':') + 1)..];
        var sameWord = known.Where(key => key.EndsWith(":" + lastWord, StringComparison.OrdinalIgnoreCase)).Take(2).ToArray();
        if (sameWord.Length == 1)
        {
            return sameWord[0];
        }

        string? best = null;
        var bestDistance = Math.Max(2, written.Length / 3) + 1;
        foreach (var key in known)
        {
            var distance = Distance(written.ToUpperInvariant(), key.ToUpperInvariant());
            if (distance < bestDistance)
            {
                best = key;
                bestDistance = distance;
            }
        }

        return best ?? known.FirstOrDefault(key => written.Length >= 3 && key.StartsWith(written, StringComparison.OrdinalIgnoreCase));
    }

    // Levenshtein's distance with one row.
    private static int Distance(string a, string b)
    {
        var row = new int[b.Length + 1];
        for (var j = 0; j <= b.Length; j++)
        {
            row[j] = j;
        }

        for (var i = 1; i <= a.Length; i++)
        {
            var diagonal = row[0];
            row[0] = i;
            for (var j = 1; j <= b.Length; j++)
            {
                var above = row[j];
                var substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
                row[j] = Math.Min(substitution, Math.Min(above, row[j - 1]) + 1);
                diagonal = above;
            }
        }

        return row[b.Length];
    }
}
