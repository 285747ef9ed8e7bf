namespace Tunnel2.Client.Terminals;

/// <summary>What a screen shows. Called by the screen's own thread; thread-safe towards the code that changes it.</summary>
internal interface IScreenContent
{
    /// <summary>Another number after each change that is to be seen at once. Others are seen within a second.</summary>
    long Version { get; }

    /// <summary>A key was pressed.</summary>
    void OnKey(ScreenKey key);

    /// <summary>The rows from the top; those beyond the last one that fits are not shown.</summary>
    IReadOnlyList<ScreenRow> Render(int columns, int rows);
}
