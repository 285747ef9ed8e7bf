namespace Tunnel2.Client.Terminals;

/// <summary>What a key means.</summary>
internal enum ScreenKeyKind
{
    /// <summary>A character; others have none.</summary>
    Character,
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,

    /// <summary>Ctrl+L: draw everything again.</summary>
    Redraw,
}

/// <summary>A key that was pressed.</summary>
/// <param name="Kind">What it means.</param>
/// <param name="Character">The character: visible ASCII, which is all that screens have a use for.</param>
internal readonly record struct ScreenKey(ScreenKeyKind Kind, char Character = '\0');
