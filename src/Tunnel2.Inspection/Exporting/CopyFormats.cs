namespace Tunnel2.Inspection.Exporting;

/// <summary>The forms in which a request can be copied.</summary>
internal static class CopyFormats
{
    /// <summary>The names of the forms.</summary>
    public static readonly string[] All = ["curl", "httpie", "csharp"];

    /// <summary>Writes a request in one of them.</summary>
    /// <param name="format">One of <see cref="All"/>.</param>
    /// <param name="source">The request.</param>
    /// <returns>The text, and what a reader has to know or null; the notes are no part of what is pasted.</returns>
    public static (string Text, string? Note) Write(string format, CopySource source)
    {
        var notes = new List<string>();
        if (source.Note is { } note)
        {
            notes.Add(note);
        }

        var text = format switch
        {
            "curl" => CurlWriter.Write(source),
            "httpie" => HttpieWriter.Write(source.WithAddress(), notes),
            _ => CSharpWriter.Write(source.WithAddress(), notes),
        };
        return (text, notes.Count == 0 ? null : string.Join("; ", notes));
    }
}
