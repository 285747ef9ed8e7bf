using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Finds the key that a misspelt one was probably meant to be.</summary>
internal static class SpellingSuggestion
{
    /// <summary>The most similar known key, or null when none is similar.</summary>
    public static string? Find(string written, IReadOnlyList<string> known)
    {
        // The right last word in the wrong group: HttpListen for Public:HttpListen.
        var lastWord = written[(written.LastIndexOf(':') + 1)..];
        var sameWord = known.Where(key => key.EndsWith(":" + lastWord, StringComparison.OrdinalIgnoreCase)).Take(2).ToArray();
        if (sameWord.Length == 1)
        {
            return sameWord[0];
        }

        return NearestWord.Find(written, known)
            ?? known.FirstOrDefault(key => written.Length >= 3 && key.StartsWith(written, StringComparison.OrdinalIgnoreCase));
    }
}
