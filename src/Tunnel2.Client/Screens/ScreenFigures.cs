using System.Globalization;

namespace Tunnel2.Client.Screens;

/// <summary>Figures as screens show them. Pure.</summary>
internal static class ScreenFigures
{
    /// <summary>A duration in at most seven characters.</summary>
    public static string Duration(TimeSpan duration) => duration switch
    {
        { TotalMilliseconds: < 9.995 } => Text($"{duration.TotalMilliseconds:0.00} ms"),
        { TotalMilliseconds: < 9_999.5 } => Text($"{duration.TotalMilliseconds:0} ms"),
        { TotalSeconds: < 999.95 } => Text($"{duration.TotalSeconds:0.0} s"),
        { TotalMinutes: < 999.5 } => Text($"{duration.TotalMinutes:0} min"),
        _ => Text($"{duration.TotalHours:0} h"),
    };

    /// <summary>How long something has lasted, in two units.</summary>
    public static string Span(TimeSpan span) => span switch
    {
        { Ticks: < 0 } => "0 s",
        { TotalMinutes: < 1 } => Text($"{span.Seconds} s"),
        { TotalHours: < 1 } => Text($"{span.Minutes} min {span.Seconds} s"),
        { TotalDays: < 1 } => Text($"{span.Hours} h {span.Minutes} min"),
        _ => Text($"{(long)span.TotalDays} d {span.Hours} h"),
    };

    /// <summary>A number with its unit in the right form.</summary>
    public static string Count(long count, string one, string several) => Text($"{count:N0} {(count == 1 ? one : several)}");

    internal static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
