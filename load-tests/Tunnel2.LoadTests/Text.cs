namespace Tunnel2.LoadTests;

/// <summary>Text for people, the same in every culture.</summary>
internal static class Text
{
    /// <summary>Formats.</summary>
    public static string Line(FormattableString text) => FormattableString.Invariant(text);

    /// <summary>Nanoseconds as milliseconds.</summary>
    public static double Milliseconds(double nanoseconds) => nanoseconds / 1e6;
}
